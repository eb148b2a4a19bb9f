"""One quiet style for every figure: readable at column width, safe for colour-blind readers.

Colours are those of Okabe and Ito (2008); surfaces use cividis (Nunez et al., 2018). Saved bytes are
the same on every call: no dates, no random ids. matplotlib is imported on the first draw only.
"""

import functools
import io
import math
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from shallows.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure

P = ParamSpec("P")
R = TypeVar("R")

COLUMN_INCH, PAGE_INCH = 3.5, 7.2
"""Widths of one column and of the page of a two-column paper."""

INK, QUIET, PUBLISHED = "#222222", "#8a8a8a", "#8a8a8a"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7a5195", "#000000")
SURFACE = "cividis"
MOST_NAMED = 16
"""Entries of a legend."""

TRANSPORTS = {
    "DCTCP": "#0072B2",
    "xDCTCP": "#56B4E9",
    "D2TCP": "#00539b",
    "DT-CWA": "#D55E00",
    "SACK drop-tail": "#8c564b",
    "NewReno": "#8c564b",
    "Reno": "#8c564b",
    "SACK + RED/ECN": "#E69F00",
    "CUBIC": "#6b8e23",
    "Cubic": "#6b8e23",
    "RCP": "#7a5195",
    "D3": "#b59bd0",
    "SDC": "#009E73",
    "RACS": "#CC3377",
    "pFabric-like": "#17becf",
    "Prague": "#bcbd22",
}
"""One colour a transport in every figure. Black is left to reference lines and grey to published values."""

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "savefig.facecolor": "white",
    "svg.hashsalt": "shallows",
    "svg.fonttype": "path",
    "path.simplify": True,
    "text.parse_math": False,  # a port or load may have a $ in its name
}
_NO_DATES = {
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".png": {"Software": None},
}

_SAVES = ContextVar("saves", default=False)
"""Whether `image` saves a figure."""


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorator: draws in this style without changing anyone else's settings."""

    @functools.wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            for name, value in _RC.items():
                matplotlib.rcParams[name] = value
            return draw(*args, **kwargs)

    return inside


def canvas(
    columns: int = 1,
    rows: int = 1,
    width_inch: float = COLUMN_INCH,
    height_inch: float = 2.2,
    **subplots: Any,
) -> "tuple[Figure, list[Axes]]":
    """A figure and its axes in reading order. Belongs to no window and no global state.

    A notebook shows it by itself.
    """
    figure = _shown()(figsize=(width_inch, height_inch), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **subplots)
    return figure, [ax for row in axes for ax in row]


@functools.cache
def _shown() -> "type[Figure]":
    """matplotlib's figure as a notebook shows it, imported when first needed."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    class ShownFigure(Figure):
        def _repr_svg_(self) -> str:
            return image(self).decode()

        def draw(self, renderer: "RendererBase") -> None:
            """Draws the figure, but for the first pass of `image`.

            matplotlib saves in two passes and draws in both, though the first is for the layout alone.
            """
            engine = self.get_layout_engine()
            if _SAVES.get() and isinstance(engine, ConstrainedLayoutEngine):
                engine.execute(self)
            else:
                super().draw(renderer)

    return ShownFigure


def colour(index: int, name: str = "") -> str:
    """A transport's own colour if `name` is one, else the index-th; after the last the first again."""
    return TRANSPORTS.get(name) or COLOURS[index % len(COLOURS)]


def palette(names: Sequence[str]) -> dict[str, str]:
    """A colour for each: a transport's own, and for the others those that no transport among them has."""
    own = {name: TRANSPORTS[name] for name in names if name in TRANSPORTS}
    left = [each for each in COLOURS if each not in own.values()] or list(COLOURS)
    rest = [name for name in names if name not in own]
    return own | {name: left[k % len(left)] for k, name in enumerate(rest)}


def legend(ax: "Axes", **where: Any) -> None:
    """A legend, where there is more than one thing to tell apart. Of very many it names the first."""
    handles, labels = ax.get_legend_handles_labels()
    if len(labels) > MOST_NAMED:
        title = f"the first {MOST_NAMED} of {len(labels)}"
        ax.legend(handles[:MOST_NAMED], labels[:MOST_NAMED], title=title, title_fontsize=7, **where)
    elif len(labels) > 1:
        ax.legend(**where)


def legend_outside(figure: "Figure", named: Mapping[str, Any], loc: str, most: int) -> None:
    """A legend beside the panels, of handles by label: as many of `most` columns as fit the figure."""
    for columns in range(min(most, len(named)), 0, -1):
        made = figure.legend(named.values(), named.keys(), loc=f"outside {loc}", ncols=columns)
        if columns == 1 or made.get_window_extent().width <= figure.bbox.width:
            return
        made.remove()


def time_axis(ax: "Axes") -> None:
    """Names an x axis in ms; one that reaches beyond two seconds is labelled in seconds."""
    from matplotlib.ticker import FuncFormatter

    if ax.get_xlim()[1] <= LONG_MS:
        ax.set_xlabel("time (ms)")
        return
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms / 1000:g}"))
    ax.set_xlabel("time (s)")


LONG_MS = 2000.0


def logarithmic(ax: "Axes", letter: str) -> None:
    """A logarithmic axis, `letter` x or y, with plain numbers that do not run into each other.

    Call it when the axis' limits stand.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    ax.set(**{f"{letter}scale": "log"})
    axis = ax.xaxis if letter == "x" else ax.yaxis
    low, high = axis.get_view_interval()
    decades = math.log10(high / low) if 0 < low < high else 1.0
    steps = (1.0, 2.0, 5.0) if decades < 1.2 else (1.0, 3.0) if decades < 2.5 else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps) if decades > 0.5 else MaxNLocator(4))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


@styled
def image(figure: "Figure", suffix: str = ".svg") -> bytes:
    """The figure as .svg, .pdf or .png; equal figures give equal bytes."""
    if suffix not in _NO_DATES:
        raise ValueError(f'a figure is saved as {", ".join(_NO_DATES)}, got "{suffix}"')
    buffer = io.BytesIO()
    saves = _SAVES.set(True)
    try:
        figure.savefig(buffer, format=suffix[1:], metadata=_NO_DATES[suffix], dpi=200)
    finally:
        _SAVES.reset(saves)
    figure.set_layout_engine("none")  # laid out once, else each further save moves it by a rounding
    return buffer.getvalue()


def save(figure: "Figure", path: Path) -> Path:
    """Writes the figure to `path`, in the format of its suffix; whole or not at all. Raises OSError."""
    write_whole(path, image(figure, path.suffix))
    return path
