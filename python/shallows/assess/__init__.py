"""The report card of a congestion control, a row for each criterion of RFC 9743."""
