"""The documentation site: generated pages, pictures, and the measures that the prose is held to.

`mkdocs.yml` loads `hooks.py`. `make site` builds; nothing here is part of the installed package.
"""
