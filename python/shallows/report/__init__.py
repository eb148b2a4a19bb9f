"""One self-contained HTML file a paper: figures, tables, claims, settings, and the commands behind them."""

from shallows.report.page import write_report

__all__ = ["write_report"]
