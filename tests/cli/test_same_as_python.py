"""The command line and Python fit the same model to the same table, and say the same of rows."""

import io

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from scarce import AutoClassifier, GaussianBayes, MaxentClassifier, RareClassifier, load
from scarce.cli.main import scarce
from tests.problems import warned

MODELS = {
    "rare": lambda: RareClassifier("logistic", ridge=1.0, random_state=0),
    "maxent": MaxentClassifier,
    "bayes": GaussianBayes,
    "auto": lambda: AutoClassifier(random_state=0),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": rng.normal(40, 9, n).round(1),
            "city": rng.choice(["Ulm", "Bonn", "Jena"], n),
            "online": rng.random(n) < 0.5,
            "visits": rng.integers(0, 9, n),
        }
    )
    frame["fraud"] = (rng.random(n) < 0.1 + 0.3 * (frame["city"] == "Bonn")).astype(int)
    return frame


def run(*words):
    done = CliRunner().invoke(scarce, [str(word) for word in words])
    assert done.exit_code == 0, done.stderr
    return done


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("missing", [False, True])
def test_the_same_probabilities(table, tmp_path, monkeypatch, model, missing):
    monkeypatch.setattr("scarce.auto.classifier.DEFAULT", ("logit",))
    if missing:
        table = table.astype({"city": object, "age": float})
        table.loc[::7, "city"] = None
        table.loc[::5, "age"] = np.nan
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    words = ["--loss", "logistic", "--ridge", "1"] if model == "rare" else []
    run("fit", path, "--label", "fraud", "--model", model, *words, "--out", tmp_path / "m.scarce")
    frame = pd.read_csv(path)
    X, y = frame.drop(columns="fraud"), frame["fraud"]
    theirs = load(tmp_path / "m.scarce")
    ours = MODELS[model]()
    with warned("identifier-column", column="id"):
        ours.fit(X, y)
    wanted = ours.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(theirs.predict_proba(X)[:, 1], wanted)
    said = run("predict", tmp_path / "m.scarce", path, "--id", "id").stdout
    np.testing.assert_array_equal(pd.read_csv(io.StringIO(said))["prob"], wanted)
