"""`python -m shallows`: the command line."""

from shallows.cli import main

main()
