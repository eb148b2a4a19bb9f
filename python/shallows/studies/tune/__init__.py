"""The search for settings that make metrics small or large."""
