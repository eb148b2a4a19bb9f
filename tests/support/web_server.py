"""A server of the live page for tests, in a process of its own with an empty directory."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def running(folder: Path, *options: str):
    """Its address. It must end well on Ctrl-C, without a traceback through our own code."""
    command = [sys.executable, "-m", "shallows", "web", "--port", "0", "--no-browser", *options]
    command += ["--store", str(folder / "runs")]
    errors = folder / "errors"
    with errors.open("w") as file:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=file, text=True, env=os.environ
        )
    try:
        assert process.stdout is not None
        url = re.search(r"http://\S+", process.stdout.readline())
        assert url, f"the server did not say where it is: {errors.read_text()}"
        yield url[0]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "shallows/web" not in errors.read_text(), errors.read_text()
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
