"""Products with a missing factor: the experiment on a table that needs no data."""

import numpy as np

from experiments.paper_004 import products


def test_a_simulated_table_and_its_page():
    name = "effects and product, correlated"
    found = {}
    for number in range(2):
        for task, rule, value in products.losses(name, number):
            found.setdefault((task, name), {}).setdefault(rule, []).append(value)
    assert [task for task, _ in found] == ["all labelled", "half of one class"]
    for held in found.values():
        expected, seen, constant = (
            np.mean(held[rule]) for rule in ("expected", "seen", "constant")
        )
        assert expected < seen < constant
    text = products.page(
        {**found, **{(task, "again"): held for (task, _), held in found.items()}}, 2
    )
    assert text.count("lower on 2 of 2") == 4


def test_the_stored_page_names_every_table():
    stored = (products.Path(products.__file__).with_name("products.md")).read_text("utf-8")
    worlds = [name + more for name in products.SIMULATED for more in ("", ", correlated")]
    for name in (*products.UCI, *products.MISSING, *worlds):
        assert stored.count(f"| {name} |") == 2
    assert products.CHOSEN in stored
