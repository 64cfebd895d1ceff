"""Every command explains itself."""

import argparse

import pytest

from ebmbench.cli.main import build_parser

COMMANDS = next(action.choices for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
NAMES = {"run", "prepare", "baselines", "train", "sample", "evaluate", "report", "compare", "list", "suite", "clean"}
NAMES |= {"claims", "tune", "serve", "worker"}


def test_no_command_is_lost() -> None:
    assert set(COMMANDS) == NAMES


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    text = COMMANDS[name].format_help()
    assert f"example: ebmbench {name}" in text
    assert f"usage: ebmbench {name}" in text


@pytest.mark.parametrize("words", ["tune --jobs 0", "tune --jobs x", "claims --first=-1", "worker tcp://a:1 --jobs 0"])
def test_a_number_that_makes_no_sense_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(words.split())
    error = capsys.readouterr().err
    assert "or more" in error
