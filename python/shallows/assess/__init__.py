"""The report card of a congestion control: what RFC 9743 asks an evaluation to show, row by row."""
