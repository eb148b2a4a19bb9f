"""Files that others' programs write: networks, flows, sizes and training steps, as parts of an experiment.

`readers/` has one file for each format, and `formats` their list, a line each. `parts/` is shared.
`compose` and `write` make an experiment of several files.
"""
