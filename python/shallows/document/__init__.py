"""From an experiment file to checked points: reading, settings, sweep points, the call of the checker."""
