"""`python -m shallows`: the command line."""

import signal


def main() -> None:
    """Runs the command line and exits with its status."""
    # Until work begins, Ctrl-C ends the process at once: nothing is lost, and half-done imports say nothing.
    # `terminal.progress` listens. One that the caller ignores stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # `./shallows` blocks one that comes while Python begins; it ends the process here.
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from shallows.cli.entry import main as enter

    enter()


if __name__ == "__main__":
    main()
