"""The server of the live page: its start and end, the gate before all requests, and downloads."""
