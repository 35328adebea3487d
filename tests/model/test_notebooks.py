"""Models in a notebook, which is executed by a kernel: tables, diagrams and progress bars."""

import nbclient
import nbformat
import numpy as np
import pytest
import sklearn

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression

CELLS = (
    """\
import numpy as np
from dpfit import PrivateAdditiveRegression, PrivateLinearRegression
X = np.random.default_rng(0).uniform(size=(3000, 2))
model = PrivateLinearRegression(epsilon=5.0, verbose=True)
model""",
    "model.fit(X, X @ [1.0, 2.0])",
    "model.summary()",
    "for _ in range(2):\n    PrivateAdditiveRegression(epsilon=5.0, verbose=True).fit(X, X[:, 0])",
    "model.privacy_",
    "1 / 0",
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The outputs of each cell."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = nbclient.NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": folder}},
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def html_of(output):
    return output["data"]["text/html"]


def test_errors_are_seen(outputs):
    """Whether the notebook ran at all."""
    assert outputs[-1][0]["ename"] == "ZeroDivisionError"
    assert all(output["output_type"] != "error" for cell in outputs[:-1] for output in cell)


def test_a_model_is_a_diagram_before_its_fit_and_a_table_after(outputs):
    (before,), (*_, after) = outputs[0], outputs[1]
    assert "sk-top-container" in html_of(before)
    assert "95 % confidence" in html_of(after)
    assert html_of(after) == html_of(outputs[2][0])
    assert after["data"]["text/plain"].startswith("PrivateLinearRegression(")


def test_bars_are_replaced_and_nothing_is_on_standard_error(outputs):
    """One output for each fit, in its last state; no stream, which notebooks show in red."""
    bars = [*outputs[1][:-1], *outputs[3][:2]]
    assert len(bars) == 3
    for bar, name in zip(bars, ("Linear", "Additive", "Additive"), strict=True):
        assert bar["output_type"] == "display_data"
        words = bar["data"]["text/plain"].split()
        assert words[0] == f"Private{name}Regression:"
        done, rounds = words[-1].split("/")
        assert done == rounds
        assert f'<progress value="{rounds}" max="{rounds}">' in html_of(bar)
    assert not [o for cell in outputs for o in cell if o["output_type"] == "stream"]


def test_the_record_is_a_table(outputs):
    assert "<table>" in html_of(outputs[4][0])


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
def test_html_follows_the_configuration_of_scikit_learn(cls):
    X = np.random.default_rng(0).uniform(size=(500, 1))
    model = cls(epsilon=5.0)
    assert "sk-top-container" in model._repr_html_()
    model.fit(X, X[:, 0])
    assert model._repr_html_() == model.summary().to_html()
    assert model._repr_mimebundle_()["text/html"] == model.summary().to_html()
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}
