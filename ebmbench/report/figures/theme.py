"""One visual language for all figures: white ground, quiet axes, a colour and a marker for each method.

No two methods share both. `PLACES` gives the methods that ship their pairs for good; all others take the next free
pairs, in the order of the suite, so that adding a method recolours none that ships. The colours are mostly Paul Tol's;
those of the benchmark's seven methods are told apart by the colour-blind (16 or more units of CIELAB in Machado's
simulations, a test computes them) and by their lightness on a grey printer. Variants of one method share its pair and
differ in line and fill. Densities use seaborn's `mako`, which is perceptually uniform, reversed so that no mass is
white.

Figures are byte-identical for the same data: SVG identifiers have a fixed salt, text is drawn as paths, and
no date or program name is written.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import seaborn as sns
from matplotlib.axis import Axis
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from PIL import Image

from ebmbench.report.results.baselines import is_baseline

PALETTE = (
    "#332288",
    "#CC6677",
    "#44AA99",
    "#999933",
    "#DDAA33",
    "#006CD1",
    "#225522",
    "#000000",
    "#EE7733",
    "#882255",
    "#CC3311",
    "#665500",
)
MARKERS = ("o", "s", "^", ">", "D", "P", "X", "v", "<", "p", "h", "8")
# A method's place is its colour and marker for good: append only. A test asks for every file of `methods/`.
PLACES = (
    *("dsm", "nce", "mle", "adabrm", "cd", "adance", "ssm", "ncsn", "cnce"),
    *("ism", "fd_ssm", "rank_nce", "brm", "ace", "fce", "maximin", "icd", "jem", "stein"),
    *("pseudo_likelihood", "ratio_matching"),
)
# Of variants of one method.
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
FILLS = ("full", "none", "left", "bottom", "right", "top")
INK, FAINT, EMPTY = "#333333", "#B0B0B0", "#F2F2F2"
WIDTH = 7.0  # inches: words can be read at the width of a page on GitHub and, just, on a phone
DOTS = 120  # per inch, in PNG
MARGIN = 0.08  # inches around a figure
LARGEST = 290_000  # bytes of a PNG; a larger one makes do with 256 colours (about half the size) or fewer
UNITS = {1e15: "P", 1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k"}
STYLE = {
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.titlesize": 10.5,
    "axes.labelsize": 9.5,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same glyphs everywhere
    "font.size": 9.5,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "ebmbench",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


_others: list[str] = []  # methods that do not ship, by the order of their places


def colour(name: str) -> str:
    """The colour of a method (settings do not count); baselines are grey."""
    method = name.split(" ")[0]
    if is_baseline(method):
        return FAINT if method == "oracle" else "#777777"
    return PALETTE[_place(method) % len(PALETTE)]


def marker(name: str) -> str:
    """The marker of a method: the second round through the colours has other markers than the first."""
    place = _place(name.split(" ")[0])
    return MARKERS[(place + place // len(PALETTE)) % len(MARKERS)]


def line_style(name: str, names: Iterable[str]) -> dict[str, Any]:
    """Colour and marker of the method, with the line and fill of this variant among those of its method in `names`."""
    own = [one for one in names if one.split(" ")[0] == name.split(" ")[0]]
    place = own.index(name) if name in own else 0
    pair = {"color": colour(name), "marker": marker(name)}
    # Who shares a colour, in the next round through them, has another line too: markers alone are few on a curve.
    line = place + _place(name.split(" ")[0]) // len(PALETTE)
    return pair | {"linestyle": LINES[line % len(LINES)], "fillstyle": FILLS[place % len(FILLS)]}


def density_colours() -> Colormap:
    """White for no mass, dark for much."""
    mako = [to_rgb(tuple(shade)) for shade in sns.color_palette("mako_r", 95)]
    # mako ends at a lightness of 95 of 100; five more steps of 95 lead on to white at the same pace.
    pale = np.linspace(to_rgb("white"), mako[0], 5, endpoint=False)
    return LinearSegmentedColormap.from_list("density", [*map(tuple, pale), *mako])


@contextmanager
def apply_theme(methods: Sequence[str] = ()) -> Iterator[None]:
    """Set the theme for the figures made inside, and nothing outside; `methods` are the suite's, in its order."""
    before = list(_others)
    _others[:] = [name for name in dict.fromkeys(methods) if name not in PLACES]
    try:
        with matplotlib.rc_context():
            sns.set_theme(context="paper", style="whitegrid", rc=STYLE)
            yield
    finally:
        _others[:] = before


def plain_ticks(axis: Axis, low: float, high: float) -> None:
    """Plain numbers on a logarithmic axis: 1, 2, 5, 10 within three decades, powers of ten beyond."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, file: Path, colours: int | None = None) -> Path:
    """Write a figure without any trace of when and by what it was made; a PNG with only so many colours."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".svg":
        figure.savefig(file, metadata={"Date": None, "Creator": None})
        return file
    drawn = BytesIO()
    # Who sets margins by hand has measured them: to measure once more takes twice as long.
    crop: dict[str, Any] = (
        {"bbox_inches": "tight", "pad_inches": MARGIN} if figure.get_layout_engine() is not None else {}
    )
    figure.savefig(drawn, dpi=DOTS, format="png", **crop)
    image = compact(Image.open(drawn))
    return write_png(image.quantize(colours, dither=Image.Dither.NONE) if colours else image, file)


def write_png(image: Image.Image, file: Path) -> Path:
    """Write an image as small as can be, with fewer colours if it would be too large."""
    file.parent.mkdir(parents=True, exist_ok=True)
    image = image if image.mode == "P" else compact(image)
    image.save(file, optimize=True)
    for colours in (256, 128, 64, 32):
        if file.stat().st_size > LARGEST:
            image.quantize(colours, kmeans=1, dither=Image.Dither.NONE).save(file, optimize=True)
    return file


def compact(image: Image.Image) -> Image.Image:
    """Without transparency, and with one channel if there is nothing but grey."""
    image = image.convert("RGB")
    red, green, blue = (np.asarray(one) for one in image.split())
    return image.convert("L") if np.array_equal(red, green) and np.array_equal(red, blue) else image


def _place(method: str) -> int:
    """Its place in `PLACES`, or behind them; a name that no suite announced takes the next free one."""
    if method not in PLACES and method not in _others:
        _others.append(method)
    return (*PLACES, *_others).index(method)


def _plain(value: float, place: int) -> str:
    unit, name = next(((one, name) for one, name in UNITS.items() if value >= one), (1.0, ""))
    return f"{value / unit:g}{name}"


def brief_name(name: str) -> str:
    """A method with its swept values, without their keys but for switches: `mle rbm tempering`, `cd persistent=True`.

    Numbers keep their keys, too: `adance interval=5`.
    """
    method, *settings = name.replace(",", " ").split()
    return " ".join([method, *(value if (value := one.rpartition("=")[2]).islower() else one for one in settings)])
