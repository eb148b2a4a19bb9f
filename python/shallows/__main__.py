"""`python -m shallows`: the command line."""

from shallows.cli.app import main

main()
