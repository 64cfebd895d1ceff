"""YAML that is made to do harm: each in its own words, and none takes long or much."""

from pathlib import Path

import pytest

from ebmbench.config.params import load_params
from ebmbench.config.yaml import plain
from ebmbench.errors import LONGEST, UserError
from ebmbench.stages.preparation import prepare_workspace
from tests.config.test_params import project

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "params.yaml").read_text(encoding="utf-8")
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)
LARGE = "found more than 50 levels or 1000000 values"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, LARGE),
        ("x: " + "[" * 100_000, LARGE),  # the parser in C would overflow its stack, which ends the process
        ("x: " + "{a: " * 2000 + "1" + "}" * 2000, LARGE),
        ("x: &a [1, *a, *a]", "found '*a' inside what it stands for"),
        ("x: {y: " + "9" * 30 + "}", "x.y: found a whole number of 100 bits, allowed: 64"),
        ("x: " + "9" * 5000, "digits"),
        ("x: 2026-13-45", "month must be in 1..12"),
        ("x: !!int y", "invalid literal for int"),
        ("x: !!python/object/apply:os.system [id]", "could not determine a constructor"),
        ("x: 1\nx: 2", "found duplicate key"),
    ],
)
def test_yaml_that_does_harm_is_a_value_error_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("*", r"\*").replace("[", r"\[")):
        plain(text)


def test_yaml_with_honest_aliases_is_read() -> None:
    assert plain("a: &a [1, 2]\nb: [*a, *a]\nc: &n 9223372036854775807\nd: *n")["b"] == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[0, 1, 2]", f"[{', '.join(map(str, range(10_001)))}]", "found 10001 runs .*, allowed: at most 10000"),
        ("sigma: 0.05", f"sigma: [{', '.join(['0.5'] * 100)}]", "found 100 values, some of them twice"),
        ("sigma: 0.05", "sigma: [1, 1.0]", r"found \[1, 1.0\], allowed: one or more different"),
        ("source: ebmbench/data/two_moons.py", "source: a/../../x.py", "allowed: a path inside the project"),
        ("source: ebmbench/data/two_moons.py", 'source: "a\\e[2Jb.py"', "allowed: a path inside the project"),
        (
            "source: ebmbench/data/two_moons.py",
            f"source: {'x' * 300}.py",
            "two_moons.source: found 'xxx.*255 for each name",
        ),
        (
            "source: ebmbench/data/two_moons.py",
            f"source: {'é' * 150}.py",
            "two_moons.source: found 'é.*255 for each name",
        ),
        (
            "source: ebmbench/data/two_moons.py",
            f"source: {'x/' * 600}x.py",
            "two_moons.source: found .*at most 1000 bytes",
        ),
        ("root:", f"root: {'x' * 300}", "data.root: found .*255 for each name"),
        ("inception_weights:", f"inception_weights: {'x' * 300}", "inception_weights: found .*255 for each name"),
        ("suite: quick", 'suite: "quick\\n"', "benchmark.suite: found"),
        ("budget: 3_000_000", '"bud\\e[31mget": 3', r"training.bud\\x1b\[31mget: found an unknown key"),
        ("budget: 3_000_000", f"{'k' * 900}: 3", r"training.k{100,200}\.\.\.: found an unknown key"),
    ],
)
def test_a_value_that_does_harm_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    root = project(tmp_path, old, new)
    with pytest.raises(UserError, match=words):
        prepare_workspace(root, load_params(root))


def test_an_error_is_one_line_whatever_it_is_made_of() -> None:
    line = str(UserError("a\nb\r\nc\x1b[2Jd‮e" + "x" * 9999))
    assert line.startswith("a b c\\x1b[2Jd\\u202ee")
    assert len(line) <= LONGEST
