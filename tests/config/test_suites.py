"""A suite of a toy and images in one clone: DVC's experiments, and from one suite to another and back."""

import copy
import subprocess
from pathlib import Path

import pytest

import ebmbench
from ebmbench.config import suites
from ebmbench.config.params import load_params
from ebmbench.config.registry import entries, load, names
from ebmbench.errors import UserError
from ebmbench.experiment.data import open_data
from ebmbench.experiment.sweep import cell_jobs, check_cell
from ebmbench.workspace.cell import Cell
from tests.config.test_params import project
from tests.workflow.conftest import Clone, make_clone
from tests.workflow.small_images import PAIR, write_suite

ROOT = Path(__file__).parents[2]
NAMES = {f"GIT_{who}_{what}": f"{who}@test.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
EXPERIMENT = ("dvc", "exp", "run", "-S", "benchmark.datasets=[digits]")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone that has run nothing, with two suites on the same data, committed, as an experiment wants it."""
    clone = make_clone(tmp_path_factory.mktemp("suites"), server="")
    write_suite(clone.root, "pair", PAIR)
    other = copy.deepcopy(PAIR)
    other["benchmark"]["datasets"] = ["digits"]
    other["datasets"]["digits"]["overrides"]["training"]["budget"] = 3000
    write_suite(clone.root, "other", other)
    clone.run("ebmbench", "suite", "use", "pair")
    for command in (["add", "-A"], ["commit", "-qm", "suites"]):
        subprocess.run(["git", *command], cwd=clone.root, env=clone.environment() | NAMES, check=True)
    return clone


def cells_of(clone: Clone, suite: str) -> set[tuple[str, str]]:
    """Which cells the report has, all of them good."""
    frame = ebmbench.load_results(clone.root / "reports" / suite / "latest")
    assert set(frame["status"]) == {"ok"}
    return set(zip(frame["dataset"], frame["method"], strict=True))


DIGITS = {("digits", name) for name in ("oracle", "noisy", "dsm")}
MOONS = {("two_moons", name) for name in ("oracle", "gaussian", "dsm")}


@pytest.mark.slow
def test_an_experiment_on_one_dataset_reports_its_cells_alone(pair: Clone) -> None:
    assert "Ran experiment" in pair.run(*EXPERIMENT, **NAMES)
    assert cells_of(pair, "pair") == DIGITS
    assert not (pair.root / "runs/pair/two_moons").exists()
    frame = ebmbench.load_results(pair.root / "reports/pair/latest")
    assert frame.loc[frame["metric"] == "fid", "value"].notna().all()


@pytest.mark.slow
def test_an_experiment_leaves_out_cells_that_the_suite_has_run(pair: Clone, server: str) -> None:
    pair.run("ebmbench", "suite", "use", "pair", "--force")
    pair.run("ebmbench", "run", PREFECT_API_URL=server)
    assert cells_of(pair, "pair") == DIGITS | MOONS
    trained = pair.trained()
    assert "Ran experiment" in pair.run(*EXPERIMENT, **NAMES)
    assert cells_of(pair, "pair") == DIGITS
    assert "two_moons" not in (pair.root / "reports/pair/latest/report.md").read_text(encoding="utf-8")
    assert pair.trained() == trained


@pytest.mark.slow
def test_results_survive_another_suite(pair: Clone, server: str) -> None:
    pair.run("ebmbench", "suite", "use", "pair", "--force")
    pair.run("ebmbench", "run", PREFECT_API_URL=server)
    before, trained = pair.metrics(), pair.trained()
    pair.run("ebmbench", "run", "--suite", "other", PREFECT_API_URL=server)
    assert pair.outcomes()["train@digits-dsm"] == "ran"
    assert len(pair.trained() - trained) == 1
    trained = pair.trained()
    pair.run("ebmbench", "run", "--suite", "pair", PREFECT_API_URL=server)
    assert {kind for name, kind in pair.outcomes().items() if name != "report"} <= {"restored", "skipped"}
    assert pair.trained() == trained
    assert {path: text for path, text in pair.metrics().items() if path in before} == before
    assert cells_of(pair, "pair") == DIGITS | MOONS


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("training:\n", "# why so few? ask Ada\ntraining:\n", "# why so few? ask Ada"),
        ("sigma: 0.05", "sigma: 0.05 # from the pilot", "# from the pilot"),
        ("restarts: 2", "restarts: 2\n  # restarts: 5", "# restarts: 5"),
        ("seeds: [0, 1, 2]", "seeds: [0, # the first\n    1, 2]", "# the first"),
        ("datasets:\n  ", f"# {'long ' * 40}\ndatasets:\n  ", "# long long"),
    ],
)
def test_a_users_comment_is_not_dropped_without_being_asked_to(tmp_path: Path, old: str, new: str, shown: str) -> None:
    root = project(tmp_path, old, new)
    before = (root / "params.yaml").read_bytes()
    with pytest.raises(UserError, match=r"^params\.yaml: found edits that no suite has \(the comment '") as caught:
        suites.use(root, "smoke")
    assert shown in str(caught.value)
    assert len(str(caught.value)) < 250
    assert (root / "params.yaml").read_bytes() == before
    suites.use(root, "smoke", force=True)
    assert suites.local_edits(root) == []


def test_an_edited_suite_is_written_again_if_nobody_has_edited_the_parameters(tmp_path: Path) -> None:
    root = project(tmp_path)
    edit(root / "suites/quick.yaml", "budget: 3_000_000", "budget: 2_000_000")
    suites.use(root, "quick")
    assert load_params(root).training.budget == 2_000_000
    edit(root / "params.yaml", "restarts: 2", "restarts: 3")
    edit(root / "suites/quick.yaml", "budget: 2_000_000", "budget: 1_000_000")
    with pytest.raises(UserError, match=r"found edits that no suite has \(training\.budget, training\.restarts"):
        suites.use(root, "quick")
    assert load_params(root).training.budget == 2_000_000


def test_parameters_without_a_checksum_are_compared_with_their_suite(tmp_path: Path) -> None:
    root = project(tmp_path)
    text = (root / "params.yaml").read_text(encoding="utf-8")
    (root / "params.yaml").write_text("".join(text.splitlines(keepends=True)[:1] + text.splitlines(keepends=True)[2:]))
    assert suites.local_edits(root) == []
    edit(root / "suites/quick.yaml", "budget: 3_000_000", "budget: 2_000_000")
    assert suites.local_edits(root) == ["training.budget"]


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.parametrize("suite", list(suites.available(Path(__file__).parents[2])))
def test_the_comments_that_a_suite_brings_are_nobodys_edits(tmp_path: Path, suite: str) -> None:
    root = project(tmp_path)
    suites.use(root, suite)
    assert suites.comments((root / "params.yaml").read_text(encoding="utf-8"))
    assert suites.local_edits(root) == []


def test_what_looks_like_a_comment_inside_a_text_is_none() -> None:
    text = """a: 'x # y' # one\nb: |\n  # text\n# two\nc: [1, # three\n 2]\n"""
    assert suites.comments(text) == ["# one", "# two", "# three"]


@pytest.mark.parametrize(
    ("body", "words"), [(b"\xff", "suites/mine.yaml: not readable"), (b"", "did you mean 'quick'")]
)
def test_a_suite_that_cannot_be_read_is_named(tmp_path: Path, body: bytes, words: str) -> None:
    root = project(tmp_path)
    (root / "suites/mine.yaml").write_bytes(body)
    with pytest.raises(UserError, match=words):
        suites.use(root, "quik")


LIKE = "datasets:\n  far: {like: near, train: 20}\n  near: {like: digits, overrides: {training: {budget: 1000}}}\n"


def test_an_entry_like_another_is_that_one_with_its_overrides_and_changes(tmp_path: Path) -> None:
    root = project(tmp_path)
    suite = "# Mine.\nbenchmark: {suite: mine, datasets: [far, digits], methods: [mle]}\n"
    (root / "suites/mine.yaml").write_text(suite + LIKE)
    suites.use(root, "mine")
    params = load_params(root)
    assert set(params.datasets) == {"far", "digits"}
    far, digits = params.on("far"), params.on("digits")
    assert (params.datasets["far"].train, far.training.budget) == (20, 1000)
    assert params.datasets["digits"].train > 20
    assert digits.training.budget > 1000
    assert far.training.model_copy(update={"budget": digits.training.budget}) == digits.training
    assert (far.methods, far.benchmark.metrics) == (digits.methods, digits.benchmark.metrics)
    assert suites.local_edits(root) == []


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("{like: digit}", r"suites/mine\.yaml: datasets\.far\.like: found 'digit', .*did you mean 'digits'"),
        ("{like: far}", r"suites/mine\.yaml: datasets\.far\.source: "),
        ("{like: [digits]}", r"suites/mine\.yaml: datasets\.far\.like: found "),
    ],
)
def test_an_entry_like_none_that_there_is_is_refused_in_one_line(tmp_path: Path, entry: str, words: str) -> None:
    root = project(tmp_path)
    suite = f"benchmark: {{suite: mine, datasets: [far], methods: [mle]}}\ndatasets:\n  far: {entry}\n"
    (root / "suites/mine.yaml").write_text(suite)
    with pytest.raises(UserError, match=words):
        suites.use(root, "mine")


def test_entries_of_the_frontier_differ_in_budget_and_settings_alone(tmp_path: Path) -> None:
    root = project(tmp_path)
    suites.use(root, "frontier")
    params, found = load_params(root), {}
    for dataset, entry in params.datasets.items():
        own = params.on(dataset)
        found.setdefault(entry.source, []).append(own.training.budget)
        first = params.on(next(name for name, one in params.datasets.items() if one.source == entry.source))
        assert own.training.model_copy(update={"budget": 1}) == first.training.model_copy(update={"budget": 1})
        assert (own.sampling, own.metrics, own.benchmark) == (first.sampling, first.metrics, first.benchmark)
        facts = open_data(dataset, entry, ROOT).facts
        for method in params.benchmark.methods:
            check_cell(params, Cell(root, "frontier", dataset, method), facts)
            jobs = list(cell_jobs(own, method, facts))
            assert [load("methods", method).Method.skip(job.settings, facts) for job in jobs] == [None] * 3
    toys, digits = [500_000, 2_000_000, 8_000_000, 32_000_000], [200_000, 800_000, 3_200_000]
    assert list(found.values()) == [toys, toys, digits]


@pytest.mark.parametrize("suite", ["family", "noise"])
def test_every_cell_of_a_suite_of_many_methods_can_be_trained_and_none_is_skipped(tmp_path: Path, suite: str) -> None:
    root = project(tmp_path)
    suites.use(root, suite)
    params = load_params(root)
    for dataset, source in params.datasets.items():
        facts = open_data(dataset, source, ROOT).facts
        for method in params.benchmark.methods:
            check_cell(params, Cell(root, suite, dataset, method), facts)
            jobs = list(cell_jobs(params, method, facts))
            assert len(jobs) == (9 if (suite, method) == ("noise", "adance") else 3)  # 𝒦 = 1, 5, 20 on every dataset
            assert [load("methods", method).Method.skip(job.settings, facts) for job in jobs] == [None] * len(jobs)


def test_the_family_is_every_method_for_points_and_noise_all_that_tell_data_from_it(tmp_path: Path) -> None:
    root, methods = project(tmp_path), {}
    for suite in ("family", "noise"):
        suites.use(root, suite)
        methods[suite] = set(load_params(root).benchmark.methods)
    facts = open_data("two_moons", load_params(root).datasets["two_moons"], ROOT).facts
    modules = {name: load("methods", name) for name in names("methods")}
    assert methods["family"] == {
        name for name, one in modules.items() if one.Method.skip(one.Settings(), facts) is None
    }
    assert methods["noise"] == {name for name, entry in entries("methods").items() if entry.noise}
