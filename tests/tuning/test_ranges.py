"""Ranges go on beyond their ends, and stop only where a reason is given."""

from typing import Any

import pytest

from ebmbench.config.params import Params
from ebmbench.tuning.grid import Grid, Limit, base_section, make_grid
from ebmbench.tuning.ranges import NO_WHOLE, find_edges, move, neighbours, next_value
from tests.tuning.conftest import DEFAULTS

NEXT = [
    ([0.05, 0.1], 0.1, True, 0.2),
    ([0.02, 0.05, 0.1, 0.2, 0.4], 0.4, True, 0.8),
    ([0.02, 0.05, 0.1, 0.2, 0.4], 0.2, True, 0.4),
    ([1e-3, 2e-2, 5e-2], 5e-2, True, 0.1),  # exactly 0.125
    ([0.03, 0.05, 0.07], 0.03, False, 0.02),  # exactly 0.018
    ([1.0, 1.2], 1.2, True, 1.4),  # exactly 1.44; one digit would be no step
    ([5, 10, 20], 20, True, 40),
    ([5, 10, 20], 5, False, 2),
    ([1, 2, 4], 1, False, None),
    ([0.0, 0.1], 0.1, True, 0.2),
    ([0.0, 0.1], 0.0, False, -0.1),
    ([0.1, 0.2], 0.8, True, 1.6),  # outside already
    ([0.1, 0.2], 0.8, False, 0.4),
    ([0.1, 0.2], 0.03, True, 0.05),
    ([0.1, 0.2], 0.13, True, 0.2),  # of an earlier space
    ([0.2, 0.3], 0.7, True, 1.0),  # exactly 0.675 and 1.0125: roundings do not add up
]


@pytest.mark.parametrize(("choices", "value", "up", "expected"), NEXT)
def test_a_range_goes_on_as_it_went(choices: list[Any], value: float, up: bool, expected: float | None) -> None:
    found = next_value(choices, value, up)
    assert found == expected
    assert type(found) is type(expected)


def make(axes: dict[str, list[Any]], start: dict[str, Any], method: str = "mle", **limits: Limit) -> Grid:
    from ebmbench.config.yaml import plain

    base = base_section(method, Params.model_validate(plain(DEFAULTS)))
    return make_grid(method, base, axes, start, limits, "space.yaml")


def test_a_setting_inside_its_ranges_stands_at_no_edge() -> None:
    grid = make({"sampler.step_size": [0.1, 0.2, 0.4], "init": ["noise", "data"]}, {"sampler.step_size": 0.2})
    assert list(find_edges(grid, {"sampler.step_size": 0.2, "init": "noise"})) == []


def test_beyond_an_edge_lies_the_next_value_with_all_else_the_same() -> None:
    grid = make({"sampler.step_size": [0.1, 0.2], "buffer": [10, 20, 40]}, {"sampler.step_size": 0.2, "buffer": 20})
    (edge,) = find_edges(grid, {"sampler.step_size": 0.8, "buffer": 20})
    assert (edge.axis, edge.value, edge.why) == ("sampler.step_size", 0.8, "")
    assert edge.beyond == {"sampler.step_size": 1.6, "buffer": 20}


def test_a_limit_ends_a_range_with_its_reason() -> None:
    limit = Limit(least=1, most=12, why="so be it")
    grid = make({"buffer": [1, 5, 10]}, {"buffer": 1}, buffer=limit)
    assert [(edge.beyond, edge.why) for edge in find_edges(grid, {"buffer": 1})] == [(None, "so be it")]
    assert move(grid, {"buffer": 10}, "buffer", up=True) == {"buffer": 12}  # as far as the limit, not 20
    assert type(move(grid, {"buffer": 10}, "buffer", up=True)["buffer"]) is int
    assert move(grid, {"buffer": 12}, "buffer", up=True) == "so be it"


def test_where_a_method_refuses_a_value_its_words_are_the_reason() -> None:
    grid = make({"rejuvenation": [0.5, 1.0]}, {"rejuvenation": 1.0})
    (edge,) = find_edges(grid, {"rejuvenation": 1.0})
    assert edge.beyond is None
    assert "found 2.0, allowed: less than or equal to 1" in edge.why
    assert move(make({"buffer": [1, 2]}, {"buffer": 1}), {"buffer": 1}, "buffer", up=False) == NO_WHOLE


def test_words_and_single_numbers_have_no_edges_but_neighbours() -> None:
    grid = make({"init": ["noise", "data", "persistent"], "buffer": [10]}, {"init": "noise", "buffer": 10})
    setting = {"init": "noise", "buffer": 10}
    assert list(find_edges(grid, setting)) == []
    assert list(neighbours(grid, setting)) == [{"init": "data", "buffer": 10}]


def test_neighbours_that_the_method_refuses_are_left_out() -> None:
    axes = {"sampler.sigma_min": [0.05, 0.4, 1.0], "sampler.sigma_max": [0.8, 1.6]}
    grid = make(axes, {"sampler.sigma_min": 0.05, "sampler.sigma_max": 0.8}, "ncsn")
    found = list(neighbours(grid, {"sampler.sigma_min": 0.4, "sampler.sigma_max": 0.8}))
    assert found == [
        {"sampler.sigma_min": 0.05, "sampler.sigma_max": 0.8},
        {"sampler.sigma_min": 0.4, "sampler.sigma_max": 0.4},
        {"sampler.sigma_min": 0.4, "sampler.sigma_max": 1.6},
    ]
