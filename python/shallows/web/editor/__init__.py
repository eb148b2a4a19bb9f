"""The experiment as a page edits it: text and forms in step, completion, and what a page may name."""
