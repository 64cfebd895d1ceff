"""`searches.json`: what the search of each method was, beside the trials that it made.

The report says of a method what its own entry says: the space as it was then, the version and the commit. So the search
of one method, perhaps after an edit of the space, changes nothing that is said of the others. A method whose trials are
older than this file has no entry; for it the present space counts.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ebmbench.config.schema import check
from ebmbench.report.results.provenance import describe_code
from ebmbench.tuning.space import Plan, Space
from ebmbench.workspace.files import read_json, write_json

SEARCHES = "searches.json"
Searches = Mapping[str, Mapping[str, Any]]  # by method: `ebmbench`, `commit`, `commit date`, `budget` and `space`


def read_searches(folder: Path) -> dict[str, Any]:
    """The entries of a folder; none if there are none yet."""
    file = folder / SEARCHES
    return dict(read_json(file)) if file.is_file() else {}


def note_search(plan: Plan, folder: Path, methods: list[str]) -> Searches:
    """Write that these methods were searched by this plan, and return all entries."""
    new = {method: describe_code(plan.root) | _conditions(plan, method) for method in methods}
    entries = read_searches(folder) | new
    write_json(folder / SEARCHES, dict(sorted(entries.items())))
    return entries


def plan_of(plan: Plan, searches: Searches, method: str) -> Plan:
    """The plan by which a method was searched."""
    if method not in searches:
        return plan
    return replace(plan, space=check(Space, dict(searches[method]["space"]), SEARCHES))


def digest_of(plan: Plan, method: str) -> str:
    """A short name of all that decides a method's search."""
    return _digest(_conditions(plan, method))


def shared_digest(plan: Plan, method: str) -> str:
    """The same without what is the method's own: equal for methods that were given the same search."""
    conditions = _conditions(plan, method)
    return _digest(conditions | {"space": conditions["space"] | {"methods": None}})


def _conditions(plan: Plan, method: str) -> dict[str, Any]:
    """The space of a method alone, with the whole start: what it leaves out is of the defaults, which change."""
    space = plan.space.model_dump(mode="json")
    own = {name: entry | {"start": plan.grid(name).start} for name, entry in space["methods"].items() if name == method}
    return {"budget": plan.defaults.training.budget, "space": space | {"methods": own}}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:8]
