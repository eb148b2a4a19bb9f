"""`./shallows validate`: a listed matrix of cells on every backend, side by side, each difference judged.

`matrix` reads the cells, `measure` takes a run's numbers, `judge` holds backends against each other, `runs`
makes what is missing; the page is `report`.
"""
