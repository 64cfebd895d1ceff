"""Every path of a project, spelled here and nowhere else.

Constants are paths from the project's root. Functions take the root, or for plain names `Path()`.
"""

from pathlib import Path

from ebmbench.errors import UserError

PARAMS_YAML = "params.yaml"
DVC_YAML = "dvc.yaml"
DVC_LOCK = "dvc.lock"

WORK, RUNS, REPORTS, PREPARED, FEATURES = "work", "runs", "reports", "prepared", "features"
OUTPUTS = (WORK, RUNS, REPORTS, PREPARED, FEATURES)  # folders that the program writes to and removes from
SUITES = "suites"
DATA_ROOT = "EBMBENCH_DATA"  # an environment variable: where image files are
DEFAULTS = f"{SUITES}/defaults.yaml"

# In `runs/<suite>/`, where no dataset or method can have such a name.
BASELINES = "_baselines"  # in the folder of a dataset, beside its methods
CLAIMS = "_claims"  # beside the folders of datasets
FAILURES = "_failures"  # notes of the stages that failed

LATEST = "latest"  # the last full report, beside the released ones
DRAFT = "draft"  # a partial or edited report, beside the latest, which it must not replace; Git ignores it
PAGES = ("report.md", "claims.md")
REPORT = "report"  # the name of the stage

# `work/` is safe to delete. The lock of a run is not in it: deleting `work/` must not let a second run in.
RUN_LOCK = Path(".ebmbench/lock")
LOCKS = Path(WORK, "locks")
TRACEBACKS = Path(WORK, "failures")
DOWNLOADS = Path(WORK, "downloads")
TUNING_LOGS = Path(WORK, "tuning")
BROWSER_PAGES = Path(WORK, "pages")  # by `ebmbench report page`
TESTED_CLAIMS = Path(WORK, "claims")  # by `ebmbench claims run`
SCHEDULE_CLONE = Path(WORK, "scheduled", "clone")
WORKERS = Path(WORK, "workers")
FLOW = Path(WORK, "flow")
LOGS = FLOW / "logs"
OUTCOMES = FLOW / "outcomes.json"
PULSES = FLOW / "pulses"
# In DVC's own folder for what may be lost: a dry run writes them too.
LOCK_MEMORY = Path(".dvc/tmp/ebmbench-lock.json")  # `dvc.lock`, parsed
CHECKED_SUITE = Path(".dvc/tmp/ebmbench-checked")  # the hash of the last suite that was found good
LOCK_ENTRIES = FLOW / "entries"  # of `dvc.lock`, until they are written into it


def prepared_folder(root: Path, dataset: str) -> Path:
    """`prepared/<dataset>`."""
    return root / PREPARED / dataset


def features_folder(root: Path, dataset: str) -> Path:
    """`features/<dataset>`."""
    return root / FEATURES / dataset


def suite_folder(root: Path, suite: str) -> Path:
    """`runs/<suite>`."""
    return root / RUNS / suite


def cell_folder(root: Path, suite: str, dataset: str, method: str) -> Path:
    """`runs/<suite>/<dataset>/<method>`; the baselines of a dataset are the method `_baselines`."""
    return suite_folder(root, suite) / dataset / method


def claim_folder(root: Path, suite: str, claim: str) -> Path:
    """`runs/<suite>/_claims/<claim>`."""
    return suite_folder(root, suite) / CLAIMS / claim


def record_file(root: Path, suite: str, stage: str) -> Path:
    """Where a stage writes what it has read (`record.py`)."""
    kind, _, item = stage.partition("@")
    if kind == "prepare":
        return root / PREPARED / f"{item}.record.json"
    if kind == "features":
        return root / FEATURES / f"{item}.record.json"
    if kind == "claim":
        return claim_folder(root, suite, item) / "record.json"
    if kind == "baselines":
        return cell_folder(root, suite, item, BASELINES) / "record.json"
    dataset, _, method = item.partition("-")
    return cell_folder(root, suite, dataset, method) / "record" / f"{kind}.json"


def failure_file(root: Path, suite: str, stage: str) -> Path:
    """`runs/<suite>/_failures/<stage>.json`: why a stage failed (`failures.py`)."""
    return suite_folder(root, suite) / FAILURES / f"{file_stem(stage)}.json"


def traceback_file(root: Path, stage: str) -> Path:
    """Where the traceback of a stage that failed is."""
    return root / TRACEBACKS / f"{file_stem(stage)}.log"


def lock_file(root: Path, name: str) -> Path:
    """The lock of a stage, or of another command that writes to `work/`."""
    return root / LOCKS / f"{file_stem(name)}.lock"


def file_stem(stage: str) -> str:
    """A stage's name as the name of a file."""
    return stage.replace("@", "_").replace("/", "_")


def report_folder(root: Path, suite: str) -> Path:
    """`reports/<suite>/latest`."""
    return root / REPORTS / suite / LATEST


def draft_folder(root: Path, suite: str) -> Path:
    """`reports/<suite>/draft`."""
    return root / REPORTS / suite / DRAFT


def current_report(root: Path, suite: str) -> Path:
    """The folder with the report of the present results: the draft if it has the present parameters, else the latest.

    A full report removes the draft, so a draft is newer than the latest.
    """
    from ebmbench.config.yaml import read_mapping

    own, params = draft_folder(root, suite) / PARAMS_YAML, root / PARAMS_YAML
    fits = own.is_file() and params.is_file() and read_mapping(own) == read_mapping(params)
    return own.parent if fits else report_folder(root, suite)


def require_pipeline(root: Path) -> None:
    """Refuse a folder without `dvc.yaml`, before anything is written there."""
    if not (root / DVC_YAML).exists():
        raise UserError(f"{root}: no {DVC_YAML} here; this is not the benchmark's folder")


def suite_of(root: Path) -> str:
    """The suite that `params.yaml` names."""
    from ebmbench.config.yaml import lookup, read_mapping  # here, so that the command line starts without a YAML parser

    return str(lookup(read_mapping(root / PARAMS_YAML), "benchmark.suite"))


def report_of(root: Path) -> str | None:
    """The path of the suite's report from the root, if it has been written."""
    folder = current_report(root, suite_of(root))
    pages = (folder / name for name in PAGES)
    return next((page.relative_to(root).as_posix() for page in pages if page.exists()), None)
