"""The page docs/reference/tables.md, from the laws of the tables (python/shallows/tables/laws.toml)."""

from __future__ import annotations

from shallows.tables import laws

INTRO = """# Tables of a run

{note}

A run has these tables, as Parquet files in the store and as polars frames in `run.tables`.

- The last part of a column's name is its unit: `_ps` picoseconds, `_bps` bits per second, `_bytes`,
  `_packets`.
- `port` is `from->to`. Unless a table says otherwise, statistics cover [warmup, duration).
- A type with `?` may be null. Numbers are finite and not negative; a range says more.
- No value is above "at most", an expression of its row. A dash comes before the reason why a column has no
  such bound.
- The queue in the statistics includes the packet in transmission, except in `inner_queues` and
  `inner_histogram`.
- `flows` lacks connections that ended before `warmup`; traces begin at 0.
- A table without rows is present and empty.

Every row keeps the laws below its table. The suite and the soak hold their runs to them, `./shallows audit`
its runs, and `./shallows check-run HASH` a stored one. A law with null in it does not apply.
`duration_ps` is the experiment's duration.

| table | one row is |
|---|---|
"""


def page(note: str) -> str:
    """The text of the page."""
    text = INTRO.format(note=f"<!-- {note} -->")
    for table in laws.tables().values():
        text += f"| [`{table.name}`](#{table.name}) | {table.row} |\n"
    for table in laws.tables().values():
        text += _section(table)
    text += "\n## Between tables\n\n| law | query that finds nothing |\n|---|---|\n"
    for law, query in laws.relations().items():
        text += f"| {law} | `{query}` |\n"
    return text


def _section(table: laws.Table) -> str:
    text = f"\n## {table.name}\n\nOne row is {table.row}.\n"
    text += "\n| column | type | range | at most | meaning |\n|---|---|---|---|---|\n"
    for column in table.columns:
        most = f"`{column.most}`" if column.bound else column.most.replace(laws.FREE, "-: ")
        text += f"| `{column.name}` | {column.type} | {column.range} | {most} | {column.meaning} |\n"
    if table.laws:
        text += "\n| law | reason |\n|---|---|\n"
        text += "".join(f"| `{law}` | {why} |\n" for law, why in table.laws.items())
    return text
