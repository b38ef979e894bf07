"""Parameters: each one that cannot work is refused in a sentence that says what to type."""

import numpy as np
import pandas as pd
import pytest

from scarce import RareClassifier, UsageError
from scarce.engine.memory import ArrayRows
from scarce.linear.selection import FLOORS, PAPER_RIDGES, PAPER_SHAPES, Choice
from scarce.linear.settings import check_parameters, floor_of, setting_of, with_offset
from scarce.linear.sums import Look
from tests.linear import plain

REFUSED = [
    ({"loss": "logit"}, r"loss='logit' is not known\. Did you mean"),
    ({"domain": "lines"}, r"domain='lines' is not known\. Did you mean 'line'"),
    ({"loss": "logistic", "ridge": 0, "bias_reduction": "fith"}, "Did you mean 'firth'"),
    ({"loss": "probit", "ridge": 0, "bias_reduction": "firth"}, "Pass loss='logistic', ridge=0"),
    ({"loss": "logistic", "ridge": 1, "bias_reduction": "flic"}, "takes the place of a ridge"),
    ({"loss": "logistic", "bias_reduction": "flic"}, "ridge='auto'"),
    (
        {"loss": "logistic", "ridge": 0, "bias_reduction": "flic", "fit_intercept": False},
        "fit_intercept=False",
    ),
    ({"loss": "gev-log", "domain": "paper"}, "constraint set of the GEV-canonical loss"),
    ({"loss": "logistic", "domain": "paper"}, "or domain='line'"),
    ({"domain": "paper"}, "loss='auto' has none"),
    ({"weight_kind": "counts"}, r"weight_kind='counts' is not known"),
    ({"ridge": -1}, r"ridge=-1: give a number from 0 to inf, or 'auto'"),
    ({"ridge": np.inf}, "ridge=inf"),
    ({"ridge": np.nan}, "ridge=nan"),
    ({"ridge": "none"}, "ridge='none'"),
    ({"shape": 1.6}, r"shape=1\.6: give a number from -1 to 1\.5, or 'auto'"),
    ({"shape": -1.1}, r"shape=-1\.1"),
    ({"shape": None}, "shape=None"),
    ({"floor": 1.1}, r"floor=1\.1: give a number from 0 to 1, or 'auto'"),
    ({"floor": -0.1}, r"floor=-0\.1"),
    ({"tol": 0.0}, r"tol=0\.0, max_passes=200: both must be above 0"),
    ({"tol": np.nan}, "tol=nan"),
    ({"max_passes": 0}, "max_passes=0"),
    ({"shapes": "fine"}, r"shapes='fine' is not known"),
    ({"shapes": []}, "shapes="),
    ({"shapes": [0.0, 3.0]}, "from -1 to 1.5"),
    ({"shapes": [np.nan]}, "shapes="),
    ({"shapes": 0.3}, "shapes="),
    ({"ridges": []}, "ridges="),
    ({"ridges": "continuous"}, "ridges="),
    ({"ridges": [1.0, 0.0]}, "for no penalty at all pass ridge=0"),
    ({"ridges": [-1.0]}, "ridges="),
    ({"ridges": [np.inf]}, "ridges="),
    ({"select_by": "brie"}, r"select_by='brie' is not known\. Did you mean 'brier'"),
    ({"cv": 1}, r"cv=1: give a whole number of folds from 2 to 100"),
    ({"cv": 2.5}, "such as 0.3"),
    ({"cv": 0.0}, "cv=0.0"),
    ({"cv": np.nan}, "cv=nan"),
    ({"cv": 101}, "cv=101"),
    ({"cv": "five"}, "cv='five'"),
    ({"cv": None}, "cv=None"),
    ({"cv": True}, "cv=True"),
    ({"cv": []}, r"cv holds no pair \(train, test\)"),
    ({"offset": "exposure"}, r"offset='exposure' is not a column of X, which has 0, 1, 2\."),
    ({"offset": 3}, "offset=3 is not a column"),
    ({"offset": -1}, "offset=-1 is not a column"),
]


@pytest.mark.parametrize(("params", "words"), REFUSED, ids=lambda p: str(p)[:60])
def test_refusals(params, words):
    X, y = plain.rare(n=60)
    with pytest.raises(UsageError, match=words) as caught:
        RareClassifier(**params).fit(X, y)
    assert str(caught.value).endswith((".", "'"))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"shape": -1, "ridge": 0},
        {"shape": 1.5, "floor": 1},
        {"loss": "logistic", "ridge": 0, "bias_reduction": "flic"},
        {"loss": "gev-canonical", "domain": "paper", "shape": np.float32(0.5)},
        {"shapes": "continuous"},
    ],
    ids=str,
)
def test_what_can_work_is_let_through(params):
    check_parameters(RareClassifier(**params))


def test_refused_words_of_a_frame_name_its_columns():
    X, y = plain.rare(n=60)
    frame = pd.DataFrame(X, columns=["age", "pay", "exposure"])
    with pytest.raises(UsageError, match="'age', 'pay', 'exposure'"):
        RareClassifier(offset="expo", shape=0.0, ridge=1.0).fit(frame, y)


def test_an_offset_is_said_once():
    X, y = plain.rare(n=60)
    with pytest.raises(UsageError, match=r"goes with arrays and without a column of that role"):
        RareClassifier("logistic", ridge=1.0, offset=0).fit(X, y, offset=np.ones(60))


def test_with_offset_keeps_rows_labels_and_weights(rng):
    X, y = plain.rare(n=60)
    y[3] = np.nan
    weight = rng.random(60)
    rows = ArrayRows(X, y, weight=weight, classes=["no", "yes"], starts=(0, 7, 60))
    wider, position = with_offset(rows, np.arange(60.0), None, None)
    assert position == 3
    assert wider.classes == rows.classes
    blocks = list(wider.blocks())
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks])[:, 3], np.arange(60.0))
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks])[:, :3], X)
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y)
    np.testing.assert_array_equal(np.concatenate([b.weight for b in blocks]), weight)


def test_settings_say_what_the_parameters_say():
    seen = Look(np.ones(2), np.ones(2), 0, np.zeros(2), np.array([1.0, 3.0]))
    plainly = setting_of(RareClassifier(standardize=False), seen, None)
    assert plainly.intercept == "free"
    assert plainly.units is None
    assert plainly.tol == 1e-10
    other = setting_of(
        RareClassifier(penalize_intercept=True, domain="paper", tol=1e-7, max_passes=9),
        seen,
        1,
    )
    assert other.intercept == "penalised"
    assert other.units is not None
    assert other.units.tolist() == [1.0, 3.0]
    assert (other.offset, other.domain, other.tol, other.max_passes) == (1, "paper", 1e-7, 9)
    away = Look(np.ones(2), np.ones(2), 0, np.array([4.0, 7.0]), np.array([3.0, 0.0]))
    none = setting_of(RareClassifier(fit_intercept=False, penalize_intercept=True), away, None)
    assert none.intercept == "none"
    assert none.units is not None
    assert none.units.tolist() == [5.0, 7.0]
    assert setting_of(RareClassifier(), away, None).units is away.spread


def test_floor_of_each_kind():
    asked = Choice("gev-canonical", None, 0.05, [])
    assert floor_of(RareClassifier(), "gev-canonical", None) == 0.001
    assert floor_of(RareClassifier(), "gev-canonical", asked) == 0.05
    assert floor_of(RareClassifier(), "logistic", asked) == 0.0
    assert floor_of(RareClassifier(floor=0), "gev-canonical", asked) == 0.0
    assert floor_of(RareClassifier("logistic"), "logistic", None) == 0.0
    assert floor_of(RareClassifier("logistic", floor=0.3), "logistic", None) == 0.3


def test_the_grids_are_those_of_the_paper():
    assert len(PAPER_SHAPES) == 27
    assert PAPER_SHAPES[0] == -1.0
    assert PAPER_SHAPES[-1] == 1.5
    assert -0.2567 in PAPER_SHAPES
    assert np.all(np.diff(PAPER_SHAPES) > 0)
    assert PAPER_RIDGES == (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
    assert FLOORS[0] == 0.001


def test_nothing_is_searched_where_everything_is_given():
    X, y = plain.rare(n=60)
    called = []
    model = RareClassifier(
        "gev-canonical", shape=0.3, ridge=1.0, cv="never read", progress=lambda *a: called.append(a)
    )
    model.fit(X, y)
    assert model.selection_ is None
    assert not called
    assert (model.shape_, model.ridge_) == (0.3, 1.0)
