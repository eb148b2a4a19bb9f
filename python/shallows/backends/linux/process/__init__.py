"""The kernel as a process of this machine: its confinement, and the text in which it fails."""
