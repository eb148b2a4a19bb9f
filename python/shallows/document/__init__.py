"""From an experiment file to checked runs: reading, settings, sweep points, the question to the checker."""
