"""Parts that readers share: files with their lines and faults, rows, points, networks, schedules."""
