"""The second backend: real Linux TCP and queue disciplines in virtual time.

A kernel built as a user program (User-Mode Linux) in its time-travel mode advances its clock only with
events, so that the host's speed and load do not matter. `kernel` makes it, `gpl` holds the edits of its
sources.
"""
