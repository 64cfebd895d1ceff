"""The plan of a caller that has made one and holds the workspace; a flow started by a schedule does both itself.

Not in `flow.py`: to serve a flow Prefect pickles its function with the globals that it uses, and a context variable
cannot be pickled.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pipelines.plan import Plan

_PLANNED: ContextVar[Plan | None] = ContextVar("PLANNED", default=None)


def planned() -> Plan | None:
    """The caller's plan, if there is one."""
    return _PLANNED.get()


@contextmanager
def handing_over(plan: Plan) -> Iterator[None]:
    """A flow that is called in the block finds this plan."""
    token = _PLANNED.set(plan)
    try:
        yield
    finally:
        _PLANNED.reset(token)
