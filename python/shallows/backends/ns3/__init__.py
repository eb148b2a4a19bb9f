"""ns-3 as a peer of `./shallows validate`, where Debian's libns3-dev is installed.

`program` compiles `gpl/star.cc`, which links ns-3 and has its licence; `command` has the arguments
with which it runs an experiment; `tables` gives its answer the shape of a run's tables.
"""
