"""The registry is the paper's table."""

from paper.registry import difference, registry


def test_there_are_the_papers_33_tasks_in_order():
    assert list(registry()) == list(range(361072, 361105))


def test_a_few_lines_of_the_papers_table():
    task = registry()[361077]
    assert (task.name, task.n, task.columns, task.d, task.bound) == (
        "Ailerons",
        13750,
        33,
        33,
        0.0036,
    )
    task = registry()[361097]
    assert (task.n, task.columns, task.d, task.bound) == (4209, 359, 735, 265.32)


def test_one_hot_encoding_never_has_fewer_columns():
    assert all(task.d >= task.columns for task in registry().values())


def test_a_table_like_the_papers_has_no_difference():
    task = registry()[361074]
    assert difference(task, n=task.n, d=task.d, bound=task.bound) == ""
    # The paper prints six decimals.
    assert difference(task, n=task.n, d=task.d, bound=task.bound + 4e-7) == ""


def test_a_near_table_is_said_to_be_near():
    text = difference(registry()[361083], n=242_000, d=9, bound=5.603)
    assert "n 242000, paper 581835" in text
    assert "max |y| 5.603" in text
    assert "d " not in text
