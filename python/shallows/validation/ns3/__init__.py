"""ns-3 as a peer of `./shallows validate`, where Debian's libns3-dev is installed.

`program` compiles `gpl/star.cc`, which links ns-3 and bears its licence; `cells` says which cells it runs and
with what arguments; `runs` runs it and gives its answer the shape of a run's tables.
"""
