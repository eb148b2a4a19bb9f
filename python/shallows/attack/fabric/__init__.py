"""Worst cases of a fabric: `./shallows attack FILE --fabric`."""
