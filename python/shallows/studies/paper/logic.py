"""Truth with three values: true, false, and undecided (None). Kleene, Introduction to Metamathematics, s.64.

An undecided part counts neither as true nor as false. So "every" is false only where one part is false, and
true only where all are.
"""

from collections.abc import Iterable

Truth = bool | None

__all__ = ["Truth", "all_of", "any_of", "negated"]


def all_of(parts: Iterable[Truth]) -> Truth:
    """True if every part is, false if one is false, else undecided. Of nothing: undecided."""
    given = list(parts)
    if any(part is False for part in given):
        return False
    return True if given and all(part is True for part in given) else None


def any_of(parts: Iterable[Truth]) -> Truth:
    """True if one part is, false if all are false, else undecided. Of nothing: undecided."""
    return negated(all_of(negated(part) for part in parts))


def negated(part: Truth) -> Truth:
    """The opposite; undecided stays undecided."""
    return None if part is None else not part
