"""`python -m shallows`: the command line."""

import _signal  # not `signal`, whose imports take a few milliseconds in which Ctrl-C would show a traceback


def main() -> None:
    """Runs the command line and exits with its status."""
    from shallows.interrupts import watch_imports

    watch_imports()
    from shallows.cli.entry import main as enter

    enter()


def leave_interrupts_to_the_system() -> None:
    """Has Ctrl-C end the process at once, unless the caller ignores it or has a handler of its own."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    if hasattr(_signal, "pthread_sigmask"):  # `./shallows` blocks one that comes while Python begins
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {_signal.SIGINT})


# Already when this module is imported, as the command of an installed wheel does it.
leave_interrupts_to_the_system()
if __name__ == "__main__":
    main()
