"""A model file over a table: what is said of columns that do not look as they did in training."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from scarce import PriorCorrected, save
from scarce.cli.main import scarce


def table(rng, n, **changed):
    a = rng.normal(size=n)
    held = {
        "a": a,
        "b": rng.normal(size=n),
        "city": rng.choice(["Bonn", "Ulm", "Wien"], n),
        "y": (rng.random(n) < 1 / (1 + np.exp(1.5 - 2 * a))).astype(int),
    }
    return pa.table(held | changed)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(3)
    place = tmp_path_factory.mktemp("scored")
    files = {
        "train": {},
        "test": {},
        "units": {"a": 1000 * rng.normal(size=400)},
        "coded": {"a": np.where(rng.random(400) < 0.3, -999.0, rng.normal(size=400))},
        "empty": {"a": pa.nulls(400, pa.float64())},
        "one": {"city": np.repeat("Ulm", 400), "b": np.zeros(400)},
        "tiny": {"city": np.repeat("Ulm", 5), "b": np.full(5, 0.5)},
    }
    for name, changed in files.items():
        n = {"train": 1000, "tiny": 5}.get(name, 400)
        pq.write_table(table(rng, n, **changed), place / f"{name}.parquet")
    for model in ("rare", "bayes"):
        fit = ["fit", str(place / "train.parquet"), "--label", "y", "--model", model]
        done = CliRunner().invoke(scarce, [*fit, "--out", str(place / f"{model}.scarce")])
        assert done.exit_code == 0, done.stderr
    return place


def warnings(folder, *line):
    done = CliRunner().invoke(
        scarce, [str(folder / w) if w[-1].isalpha() and "." in w else w for w in line]
    )
    assert done.exit_code == 0, done.stderr
    return [said for said in done.stderr.splitlines() if said.startswith("scarce: warning: Column")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("test", []),
        ("tiny", []),
        ("units", [("'a'", "outside the range of training")]),
        ("coded", [("'a'", "--missing -999")]),
        ("empty", [("'a'", "all 400 values are missing")]),
        ("one", [("'b'", "all 400 values are 0"), ("'city'", "all 400 values are Ulm")]),
    ],
)
def test_predict_and_evaluate_say_what_changed(folder, data, expected):
    new = f"{data}.parquet"
    said = [
        warnings(folder, "predict", "bayes.scarce", new, "--out", "p.csv", "--force"),
        warnings(folder, "compare", new, "bayes.scarce", "--label", "y"),
    ]
    if data != "tiny":  # which has one class alone
        said.append(warnings(folder, "evaluate", "bayes.scarce", new, "--label", "y"))
        page = ["--out", "r.html", "--force"]
        said.append(warnings(folder, "report", "bayes.scarce", new, "--label", "y", *page))
    for lines in said:
        assert len(lines) == len(expected)
        for line, (column, words) in zip(lines, expected, strict=True):
            assert f"Column {column}" in line
            assert words in line


def test_many_changed_columns_are_shortened(tmp_path, rng):
    X, y = rng.normal(size=(500, 25)), rng.random(500) < 0.3
    for name, scale in (("train", 1), ("new", 1000)):
        columns = {f"c{j}": X[:, j] * scale for j in range(25)}
        pq.write_table(pa.table({**columns, "y": y.astype(int)}), tmp_path / f"{name}.parquet")
    line = ["train.parquet", "--label", "y", "--model", "bayes", "--out", "m.scarce"]
    assert warnings(tmp_path, "fit", *line) == []
    line = ["predict", "m.scarce", "new.parquet", "--out", "p.csv"]
    done = CliRunner().invoke(scarce, [str(tmp_path / w) if "." in w else w for w in line])
    said = [words for words in done.stderr.splitlines() if "warning" in words]
    assert len(said) == 11
    assert "[columns-changed]" in said[-1]


def test_two_models_over_one_table_say_it_once(folder):
    line = ("compare", "coded.parquet", "rare.scarce", "bayes.scarce", "--label", "y")
    assert len(warnings(folder, *line)) == 1


def test_a_corrected_model_still_knows_its_columns(folder):
    warnings(folder, "correct", "rare.scarce", "--now-at", "0.1", "--out", "c.scarce", "--force")
    line = ("predict", "c.scarce", "units.parquet", "--out", "p.csv", "--force")
    assert len(warnings(folder, *line)) == 1


def test_a_model_around_another_packages_estimator_is_read_by_every_verb(folder, tmp_path):
    """The types that skops does not vouch for are typed once each; the numbers are Python's."""
    rows = pq.read_table(folder / "train.parquet").to_pandas()
    forest = RandomForestClassifier(5, random_state=0)
    model = PriorCorrected(forest, prior=0.1).fit(rows[["a", "b"]], rows["y"])
    save(model, tmp_path / "forest.scarce")
    save(LogisticRegression().fit(rows[["a", "b"]], rows["y"]), tmp_path / "logit.scarce")
    test = str(folder / "test.parquet")
    held, plain = str(tmp_path / "forest.scarce"), str(tmp_path / "logit.scarce")
    trust = ["--trust", "sklearn.tree._tree.Tree"]
    lines = [
        ["predict", held, test, "--out", str(tmp_path / "p.parquet")],
        ["evaluate", held, test, "--label", "y"],
        ["check", plain, test, "--label", "y", "--against", held, "--max-worse", "9"],
        ["compare", test, plain, held, "--label", "y"],
        ["report", held, test, "--label", "y", "--out", str(tmp_path / "r.html")],
        ["correct", held, "--now-at", "0.3", "--out", str(tmp_path / "now.scarce")],
    ]
    for line in lines:
        asked = CliRunner().invoke(scarce, line)
        assert asked.exit_code == 3, asked.stderr
        assert "--trust sklearn.tree._tree.Tree" in asked.stderr
        done = CliRunner().invoke(scarce, [*line, *trust])
        assert done.exit_code == 0, done.stderr
    given = pq.read_table(tmp_path / "p.parquet")["prob"].to_numpy()
    frame = pq.read_table(test).to_pandas()[["a", "b"]]
    assert np.array_equal(given, model.predict_proba(frame)[:, 1])
