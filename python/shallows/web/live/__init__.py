"""Runs that a page watches: the process that simulates, its session, the film, and the film as a file."""
