"""The same job gives the same bytes on one machine, and nearly the same numbers on any."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ebmbench.config.registry import load
from ebmbench.samplers.common.chain import SamplerSettings
from ebmbench.training.run import train
from ebmbench.training.trainer import Trainer
from tests.conftest import real_methods
from tests.training.kills import contents
from tests.training.test_resume import DATA, LABELS, job

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("stored.json")


def tolerance(method: str) -> float:
    """The relative difference that another machine may make.

    Moving all first weights by one rounding moved the numbers by at most 4e-6 of their size. Methods that train with
    chains have more room: an accepted proposal that another machine refuses is a jump.
    """
    one = job(method)
    built = load("methods", method).Method(one.settings, one.facts)
    return 1e-2 if isinstance(getattr(built, "sampler", None), SamplerSettings) else 1e-4


def numbers(method: str) -> dict[str, float]:
    """Of a short run: the loss at its end, and how much the energies of a hundred data differ."""
    trainer = Trainer(job(method, budget=20_000), DATA, LABELS)
    while trainer.progress < 1:
        trainer.advance()
    trainer.finish()
    energy = trainer.method.judged(trainer.job.settings, trainer.model, trainer.job.facts)
    spread = energy(DATA[:100]).detach().double().std().item()
    return {"loss": sum(trainer.history["loss"][-5:]) / 5, "energy_spread": spread}


@pytest.mark.parametrize("method", real_methods())
def test_a_stored_result_is_found_again_within_its_tolerance(method: str) -> None:
    """After a wanted change of what is computed, run once with UPDATE_STORED=1 and look at the difference."""
    found, stored = numbers(method), json.loads(STORED.read_text(encoding="utf-8"))
    if os.environ.get("UPDATE_STORED"):
        STORED.write_text(json.dumps({**stored, method: found}, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    assert found == pytest.approx(stored[method], rel=tolerance(method))


def test_one_process_and_another_write_the_same_bytes(tmp_path: Path) -> None:
    """With other hashes of text, another locale and time zone, more threads offered, and another job done before."""
    (tmp_path / "here").mkdir()
    train(job("adance", budget=20_000), DATA, tmp_path / "work", tmp_path / "here")
    code = "from tests.training.test_determinism import *; import sys, torch; torch.set_num_threads(1);"
    code += "numbers('nce'); out = Path(sys.argv[1]); out.mkdir();"
    code += "train(job('adance', budget=20_000), DATA, out / 'work', out)"
    odd = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Tokyo", "OMP_NUM_THREADS": "2", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, str(tmp_path / "there")]
    subprocess.run(command, cwd=ROOT, env=os.environ | odd, check=True)
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_no_stage_computes_with_more_threads_than_one_however_many_it_is_offered() -> None:
    code = "import ebmbench.stages.evaluate, ebmbench.stages.prepare, scipy.linalg, threadpoolctl;"
    code += "print(max(pool['num_threads'] for pool in threadpoolctl.threadpool_info()))"
    offered = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    environment = os.environ | offered | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "1"
