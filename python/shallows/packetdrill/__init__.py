"""Packet scripts in packetdrill's language, run against the simulator's own TCP."""
