"""One visual language for all figures: white ground, quiet axes, a colour and a marker for each method that
never change.

Both follow from a hash of the method's name, so adding a method recolours no other. The colours are mostly Paul
Tol's; those of the benchmark's seven methods are told apart by the colour-blind (16 or more units of CIELAB in
Machado's simulations, a test computes them) and by their lightness on a grey printer. Where several methods share
a panel, the marker says it once more. Densities use seaborn's `mako`, which is perceptually uniform, reversed so
that no mass is white.

Figures are byte-identical for the same data: SVG identifiers have a fixed salt, text is drawn as paths, and
no date or program name is written.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

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
# A salt that gives the seven methods of the benchmark different places in the palette.
SALT = 34518
INK, FAINT, EMPTY = "#333333", "#B0B0B0", "#F2F2F2"
WIDTH = 10.0  # inches; shown at the width of a page on GitHub
DOTS = 120  # per inch, in PNG
MARGIN = 0.08  # inches around a figure
LARGEST = 290_000  # bytes of a PNG; a larger one makes do with 256 colours (about half the size) or fewer
UNITS = {1e15: "P", 1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k"}
STYLE = {
    "axes.edgecolor": "#888888",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "figure.facecolor": "white",
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same glyphs everywhere
    "font.size": 9,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "ebmbench",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


def colour(name: str) -> str:
    """The colour of a method (settings do not count); baselines are grey."""
    method = name.split(" ")[0]
    if is_baseline(method):
        return FAINT if method == "oracle" else "#777777"
    return PALETTE[_place(method)]


def marker(name: str) -> str:
    """The marker of a method, where colour alone would not do."""
    return MARKERS[_place(name.split(" ")[0])]


def density_colours() -> Colormap:
    """White for no mass, dark for much."""
    mako = [to_rgb(tuple(shade)) for shade in sns.color_palette("mako_r", 95)]
    # mako ends at a lightness of 95 of 100; five more steps of 95 lead on to white at the same pace.
    pale = np.linspace(to_rgb("white"), mako[0], 5, endpoint=False)
    return LinearSegmentedColormap.from_list("density", [*map(tuple, pale), *mako])


@contextmanager
def apply_theme() -> Iterator[None]:
    """Set the theme for the figures made inside, and nothing outside."""
    with matplotlib.rc_context():
        sns.set_theme(context="paper", style="whitegrid", rc=STYLE)
        yield


def plain_ticks(axis: Axis, low: float, high: float) -> None:
    """Plain numbers on a logarithmic axis: 1, 2, 5, 10 within three decades, powers of ten beyond."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(_plain))
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, file: Path) -> Path:
    """Write a figure without any trace of when and by what it was made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".svg":
        figure.savefig(file, metadata={"Date": None, "Creator": None})
        return file
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DOTS, format="png", bbox_inches="tight", pad_inches=MARGIN)
    return write_png(Image.open(drawn), file)


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
    return int(hashlib.sha256(f"{SALT}:{method}".encode()).hexdigest(), 16) % len(PALETTE)


def _plain(value: float, place: int) -> str:
    unit, name = next(((one, name) for one, name in UNITS.items() if value >= one), (1.0, ""))
    return f"{value / unit:g}{name}"
