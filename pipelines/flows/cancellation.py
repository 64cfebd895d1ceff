"""Notice that the flow run was cancelled in Prefect, and stop.

Prefect's runner kills the process of a flow that it started. A flow that was started in a terminal has no runner: the
state of its run becomes `Cancelling`, and nobody but the flow itself can act on it. So it asks now and then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext

from pipelines.display import every

POLL_SECONDS = 2.0


@contextmanager
def heeding_cancellation(stop: Event) -> Iterator[None]:
    """Set `stop` soon after the flow run in whose context this is has been cancelled."""

    def look() -> None:
        if not stop.is_set() and is_cancelled():
            stop.set()

    with every(POLL_SECONDS, look):
        yield


def is_cancelled() -> bool:
    """Whether this flow run is cancelled or about to be; no if there is nobody to ask."""
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return False
    try:
        state = get_client(sync_client=True).read_flow_run(context.flow_run.id).state
    except Exception:  # a server that is gone, or that answers nonsense, must not end the run
        return False
    return state is not None and (state.is_cancelling() or state.is_cancelled())
