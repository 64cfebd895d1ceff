"""What is stale and why, as DVC sees it."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ebmbench.errors import UserError
from pipelines.execution.dvc import run_dvc
from pipelines.planning.plan import make_plan, parse_dot, read_plan


def reasons(root: Path) -> dict[str, str | None]:
    return {stage.name: stage.why for stage in read_plan(root).todo}


def test_stage_names_with_at_and_dash_are_read_from_the_graph() -> None:
    dot = 'strict digraph {\n"prepare@two_moons";\n"prepare@two_moons" -> "train@two_moons-dsm";\n}\n'
    assert parse_dot(dot) == {"prepare@two_moons": [], "train@two_moons-dsm": ["prepare@two_moons"]}


def test_staleness_flows_down_and_not_up_or_sideways() -> None:
    graph = {"a": [], "b": ["a"], "c": ["b"], "other": ["a"]}
    plan = make_plan(graph, {"b": "code changed"})
    assert {stage.name: stage.why for stage in plan.todo} == {"b": "code changed", "c": "follows b"}
    assert plan.todo[0].upstreams == ()  # a is up to date, nobody needs to wait for it


def test_a_circle_in_the_graph_is_a_user_error() -> None:
    with pytest.raises(UserError, match="circle"):
        make_plan({"a": ["b"], "b": ["a"]}, {})


def test_a_fresh_clone_has_everything_to_do_in_an_order_that_can_be_run(workspace: Path) -> None:
    plan = read_plan(workspace)
    assert {stage.why for stage in plan.todo} == {"never run"}
    names = [stage.name for stage in plan.todo]
    assert len(names) == 2 + 4 + 4 + 1
    assert all(names.index(up) < names.index(stage.name) for stage in plan.todo for up in stage.upstreams)
    assert names[-1] == "report"


def test_a_workspace_that_is_up_to_date_has_nothing_to_do(done: Path) -> None:
    assert read_plan(done).todo == ()


def test_a_changed_setting_is_named_and_makes_only_its_method_stale(done: Path) -> None:
    params = done / "params.yaml"
    params.write_text(params.read_text().replace("sigma: 0.5", "sigma: 0.7"))
    changed = "params.yaml: methods.dsm.sigma changed"
    assert reasons(done) == {
        "train@two_moons-dsm": changed,
        "train@rings-dsm": changed,
        "evaluate@two_moons-dsm": "follows train@two_moons-dsm",
        "evaluate@rings-dsm": "follows train@rings-dsm",
        "report": "follows train@two_moons-dsm and 3 more",
    }


def test_a_draft_that_lacks_cells_is_written_again(done: Path) -> None:
    draft = done / "reports/tiny/draft"
    draft.mkdir()
    shutil.copy(done / "params.yaml", draft)
    assert reasons(done) == {}
    (draft / "results.csv").write_text("status\nok\nnot run\n")
    assert reasons(done) == {"report": "shows cells as not run"}


def test_a_changed_file_and_missing_outputs_are_named(done: Path) -> None:
    (done / "code" / "nce.py").write_text("# better\n")
    (done / "runs/tiny/rings/dsm/rows.csv").unlink()
    found = reasons(done)
    assert found["train@rings-nce"] == "code/nce.py changed"
    assert found["evaluate@rings-dsm"] == "outputs missing"
    assert "train@rings-dsm" not in found


@pytest.mark.parametrize("name", ["params.yaml", "dvc.yaml"])
def test_a_broken_file_is_a_user_error_in_dvcs_own_words(workspace: Path, name: str) -> None:
    (workspace / name).write_text("stages: [\n")
    with pytest.raises(UserError, match=name.replace(".", r"\.")):
        read_plan(workspace)


def test_a_busy_workspace_is_waited_for_and_then_named(
    done: Path, before: Callable[[Path, str, str], None], wait_until: Callable[..., None]
) -> None:
    before(done, "rings-dsm", "touch begun; while [ ! -e go ]; do sleep 0.1; done")
    command = [sys.executable, "-m", "dvc", "repro", "--quiet", "--force", "--single-item", "train@rings-dsm"]
    with subprocess.Popen(command, cwd=done) as other:
        try:
            wait_until((done / "begun").exists, 60, "the other dvc trains")
            with pytest.raises(UserError, match=f"another dvc command is at work.*{other.pid}"):
                run_dvc(done, "status", "--json", patience=0)
        finally:
            (done / "go").touch()
        assert run_dvc(done, "status", "--json", patience=30).strip().startswith("{")


@pytest.mark.parametrize("place", ["datasets: [two_moons, rings]", "methods: [dsm, nce]"])
def test_a_name_that_a_shell_would_read_as_a_command_is_refused(workspace: Path, place: str) -> None:
    params = workspace / "params.yaml"
    kind = place.partition(":")[0]
    params.write_text(params.read_text().replace(place, f'{kind}: ["a; touch trapped #"]'))
    with pytest.raises(UserError, match="found the name 'a; touch trapped #', allowed: letters"):
        read_plan(workspace)
