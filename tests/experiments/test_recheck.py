"""Fits of a published report are repeated and compared."""

import recheck_results
from tests.experiments.folders import folder_of_tables

from paper import Options, reproduce


def test_repeated_fits_are_compared_with_the_published_ones(tmp_path, capsys):
    data, out = folder_of_tables(tmp_path / "data", rows=200), tmp_path / "out"
    options = {"methods": ["adassp", "least_squares"], "trials": 0, "figures": "none", "jobs": 1}
    reproduce(Options(data=data, out=out, **options), say=str)
    command = [str(out), "--data", str(data), "--items", "9", "--ebm-rounds", "4000"]
    recheck_results.main(command)
    # Two tables: three settings of one method, three epsilons and three seeds; and least squares.
    assert (
        capsys.readouterr().out == "56 fits repeated: 0 differ, 0 by more than 1e-06 of the error\n"
    )
    path = out / "results.csv"
    lines = path.read_text("utf-8").splitlines()
    for number, factor in ((1, 1 + 1e-3), (2, 1 + 1e-12)):
        cells = lines[number].split(",")
        cells[9] = repr(float(cells[9]) * factor)
        lines[number] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    recheck_results.main(command)
    said = capsys.readouterr().out
    assert said.startswith("56 fits repeated: 2 differ, 1 by more than 1e-06 of the error\n")
    assert said.endswith("\n  adassp, constant: 1\n")
