"""One file a kind of plot: `info(...)` turns tables into plain arrays, `draw(info)` into a figure."""
