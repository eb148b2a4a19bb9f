"""Pages of reports: written whole or not at all, in one style."""
