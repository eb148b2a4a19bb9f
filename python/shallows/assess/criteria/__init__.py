"""The rows of the card after RFC 9743, in its order: a file each, and a name here."""

__all__ = ["NAMES"]

NAMES = tuple(f"C{number}" for number in range(1, 25))
