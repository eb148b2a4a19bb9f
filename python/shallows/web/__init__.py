"""The live page over the laboratory: `./shallows web`.

A server on this machine and a page in the browser, in packages that use only those before them: `editor`
(the experiment as a page edits it), `live` (watched runs and their films), `jobs` (commands and files in
processes of their own), `pages`, `server`. `limits` says how much a page may ask for. Every request passes
`server.gate` first. The user interface is NiceGUI, which brings its own assets; the extra `web` installs it.
"""
