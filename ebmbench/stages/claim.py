"""claim@<name>: put a claim of the literature to the test, twice, with disjoint seeds, and decide it.

Writes `runs/<suite>/_claims/<name>/`: verdict.json, metrics.json, values.csv (every statistic at every seed),
figure.png and cost.json. Seeds from `claims.first` on decide it, those from `claims.again` on decide once more, and the
verdict is theirs if they agree.
"""

import sys
import time
from pathlib import Path

from ebmbench.claims.testing.bench import Bench
from ebmbench.claims.testing.record import run_claim
from ebmbench.config.params import load_params
from ebmbench.stages.runner import stage_main
from ebmbench.workspace.files import write_json
from ebmbench.workspace.layout import claim_folder


def decide_claim(root: Path, name: str, fresh: bool = False) -> None:
    """Measure, decide and draw a claim, and write its record."""
    params, clock = load_params(root), time.perf_counter()
    record = run_claim(name, params.claims.first, params.claims.again, Bench(root, fresh))
    folder = claim_folder(root, params.benchmark.suite, name)
    record.save(folder)  # file by file: the folder itself is no output, and may hold a file of the user's
    write_json(folder / "cost.json", {"seconds": round(time.perf_counter() - clock, 1)})
    print(record.summary)


main = stage_main("claim", decide_claim, __doc__, "name", fresh=True)


if __name__ == "__main__":
    sys.exit(main())
