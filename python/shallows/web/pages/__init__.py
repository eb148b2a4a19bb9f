"""Pages of the live page: what each shows, and what all share. Each page is a function of an address."""
