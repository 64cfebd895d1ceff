"""`work/` is refilled from `runs/`, but not with a result that was cut short."""

from pathlib import Path

import pytest
import torch

from ebmbench.core import checkpoint
from ebmbench.core.files import write_json
from ebmbench.core.params import load_params
from ebmbench.core.store import Store
from ebmbench.stages.workspace import refill
from tests.workflow.test_shell import PARAMS

LABEL, DIGEST = "seed=0", "0123456789abcdef"


@pytest.fixture
def pulled(tmp_path: Path) -> Path:
    """A project with one finished run, as DVC brings it: without `work/`."""
    (tmp_path / "params.yaml").write_text(PARAMS, encoding="utf-8")
    cell = tmp_path / "runs" / "s" / "a" / "dsm"
    checkpoint.save(cell / "train" / LABEL / "model.safetensors", {"weight": torch.ones(100)}, {})
    write_json(cell / "train" / LABEL / "status.json", {"label": LABEL, "digest": DIGEST, "status": "ok"})
    write_json(cell / "cost" / "train.json", {LABEL: {"seconds": 1.0}})
    (cell / "history.csv").write_text("label,step\nseed=0,1\nseed=1,1\n", encoding="utf-8")
    return tmp_path


def test_a_finished_run_is_adopted(pulled: Path) -> None:
    refill(pulled, load_params(pulled))
    done = Store(pulled / "work").done(DIGEST)
    assert {path.name for path in done.iterdir()} == {"cost.json", "history.csv", "model.safetensors", "status.json"}
    assert (done / "history.csv").read_text(encoding="utf-8") == "label,step\nseed=0,1\n"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.99])
def test_a_run_that_was_cut_short_is_not(pulled: Path, share: float) -> None:
    (model,) = pulled.rglob("model.safetensors")
    body = model.read_bytes()
    model.write_bytes(body[: int(share * len(body))])
    refill(pulled, load_params(pulled))
    assert not Store(pulled / "work").done(DIGEST).exists()
    assert model.read_bytes() == body[: int(share * len(body))]
