"""The live page over the laboratory: `./shallows web`.

A server on this machine and a page in the browser. Runs happen in worker processes (`worker`), which a
session watches (`session`); the page draws films of runs (`film`, `drawing`, `static/`). Everything that a
page sends is checked first (`safety`). The user interface is NiceGUI, which brings its own assets; it comes
with the extra `web`.
"""
