"""Work that outlives a page: commands of the command line in a queue, and files made in a process apart."""
