"""The example notebook runs from its first cell to its last, and shows what it printed then.

No Jupyter is needed: a cell is Python, and the last line of it, if it is an expression, is its output. After a wanted
change run once with UPDATE_NOTEBOOK=1, and look at the notebook.
"""

import ast
import base64
import io
import json
import os
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest

FILE = Path(__file__).parents[2] / "docs" / "example.ipynb"
LARGEST = 150_000  # bytes


def run_cell(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell and give back its outputs: the value of its last line, and the figures it made."""
    *body, last = ast.parse(source).body
    shown = isinstance(last, ast.Expr) and not source.rstrip().endswith(";")
    exec(compile(ast.Module(body if shown else [*body, last], []), FILE.name, "exec"), names)
    outputs = []
    if shown:
        value = eval(compile(ast.Expression(last.value), FILE.name, "eval"), names)  # type: ignore[attr-defined]
        data = {"text/plain": repr(value)} | ({"text/html": value.to_html()} if hasattr(value, "to_html") else {})
        outputs.append({"output_type": "execute_result", "metadata": {}, "data": data})
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=80, metadata={"Software": None})
        plt.close(number)
        data = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    return outputs


def test_the_notebook_runs_and_shows_its_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FILE.parent)
    notebook = json.loads(FILE.read_text(encoding="utf-8"))
    cells, names = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"], {}
    with matplotlib.rc_context({"backend": "agg"}):
        found = [run_cell("".join(cell["source"]), names) for cell in cells]
    if os.environ.get("UPDATE_NOTEBOOK"):
        for place, (cell, outputs) in enumerate(zip(cells, found, strict=True), 1):
            counted = [
                one | {"execution_count": place} if one["output_type"] == "execute_result" else one for one in outputs
            ]
            cell |= {"execution_count": place, "outputs": counted}
        FILE.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    committed = [[set(one["data"]) for one in cell["outputs"]] for cell in cells]
    assert committed == [[set(one["data"]) for one in outputs] for outputs in found]
    assert FILE.stat().st_size < LARGEST
    assert names["model"].header["outcome"]["status"] == "ok"
    assert names["density"].max() > 3 * names["density"].mean()  # it has learned where the data are
    assert set(names["medians"].index) >= {"dsm", "nce"}
