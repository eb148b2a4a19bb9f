"""Pages of the live page, and the frame that all share. Each page is a function of an address."""
