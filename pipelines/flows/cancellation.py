"""Notice that the flow run was cancelled in Prefect, and stop.

Prefect's runner kills the process of a flow that it started. A flow that was started in a terminal has no runner: the
state of its run becomes `Cancelling`, and only the flow itself can act on it, so it polls its state.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext

from pipelines.display import repeat

POLL_SECONDS = 2.0


@contextmanager
def watch_cancellation(stop: Event) -> Iterator[None]:
    """Set `stop` soon after the current flow run was cancelled."""

    def check() -> None:
        if not stop.is_set() and is_cancelled():
            stop.set()

    with repeat(POLL_SECONDS, check):
        yield


def is_cancelled() -> bool:
    """Whether the current flow run is cancelled or cancelling; False if there is none or no server answers."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return False
    try:
        state = get_client(sync_client=True).read_flow_run(context.flow_run.id).state
    except Exception:  # a dead server, or one that answers nonsense, must not end the run
        return False
    return state is not None and (state.is_cancelling() or state.is_cancelled())
