"""Which of several models is better, and is that more than noise? All judged on the same rows.

    difference    = mean over rows of (loss of one - loss of the other)
    left-out prob = that of row i by a model fitted on all folds but that of i

Both losses of a row move with the same outcome, so the interval of their difference is far narrower
than two intervals side by side. Assumes independent rows, or groups, and takes the fits as they
are: how they would differ on other training rows is not in the interval. The best is chosen on the
same rows, which choosing.py pays for: limits of all models hold together, and `confidence_set` has
every model that may be the best.

`left_out_prob` makes probabilities of rows that a fit did not see, with the same folds for all
models. Rows of each class are dealt to the folds alike; copies of a row and rows of one group stay
in one fold (engine/folds.py). The constant forecast, the class shares of the other folds, is always
among the answers. Assumes that the rows fit into memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from scarce.bootstrap import (
    Bootstrap,
    Inclusion,
    Resampling,
    Seed,
    read_kind,
)
from scarce.checks import read_integer, read_seed, refuse_other_index
from scarce.decisions.costs import CostsLike
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, Progress, many
from scarce.engine.folds import RowGroups, deal_folds, row_groups
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, UsageError, refuse_word, warn_user
from scarce.evaluation.choosing import Joint, against_one, choose
from scarce.evaluation.cost import mean_of, read_outcomes, savings
from scarce.evaluation.evaluate import Evaluation, evaluated
from scarce.evaluation.scores import Forecasts, untested
from scarce.io.frames import is_frame, names_rows
from scarce.io.open import open_rows
from scarce.results import Estimate, Record, in_rows
from scarce.scoring import LOSSES, losses_if, row_losses

BY_LOSS = {"log_loss": "log", "brier": "brier"}
UNKNOWN = "both give what happened probability 0 somewhere, which cannot be subtracted"
CONSTANT = "constant"
OTHER_ODDS = 1.25  # base rates of a model and of its rows, from which on it is worth a word
Folds = NDArray[np.intp]
Fit = Callable[..., Any]  # from rows, and groups where there are some, to a fitted classifier


@dataclass(frozen=True, eq=False)
class Comparison(Record):
    """Models on the same rows.

    Parameters
    ----------
    evaluations : dict of name -> Evaluation
        By log loss, the least first.
    best : dict of loss -> name
        The model with the least "log_loss" and "brier".
    behind : dict of loss -> dict of name -> Estimate
        How much more each of the others loses than the best model, whichever that is. The limits of
        all models hold together; those of models outside the set, with all that were still
        compared.
    ahead : dict of loss -> dict of name -> Estimate
        How much less each model loses than the constant forecast; the limits hold together.
    confidence_set : dict of loss -> list of names
        The models that may be the best: all models that are truly best are among them with
        probability `level` (Hansen, Lunde and Nason 2011). By loss, the best first.
    optimism : dict of loss -> float
        How much better the loss of the best looks than it is, for having been chosen on the same
        rows, roughly (see `scarce.evaluation.choosing`). NaN where unknown.
    level : float
    """

    evaluations: dict[str, Evaluation]
    best: dict[str, str]
    behind: dict[str, dict[str, Estimate]]
    ahead: dict[str, dict[str, Estimate]]
    confidence_set: dict[str, list[str]]
    optimism: dict[str, float]
    level: float

    def tied(self, loss: str = "log_loss") -> list[str]:
        """Return the models that cannot be told from the best: the others of the set."""
        return [name for name in self.confidence_set[loss] if name != self.best[loss]]

    def no_better(self, loss: str = "log_loss") -> list[str]:
        """Return the models whose gain over the constant forecast cannot be told from none."""
        return [name for name, one in self.ahead[loss].items() if not one.low > 0]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the verdicts as plain values, ready for JSON."""
        return super().to_dict() | {
            "tied": {loss: self.tied(loss) for loss in BY_LOSS},
            "no_better_than_constant": {loss: self.no_better(loss) for loss in BY_LOSS},
        }

    def __str__(self) -> str:
        wide = max(map(len, self.evaluations))
        lines = [f"{'':<{wide}}  log loss, and how far behind the best"]
        for name, one in self.evaluations.items():
            behind = self.behind["log_loss"].get(name)
            told = "best" if behind is None else behind.brief()
            lines.append(f"{name:<{wide}}  {one.log_loss.brief(limits=False):<8}  {told}")
        if self.tied():
            kept = ", ".join(self.confidence_set["log_loss"])
            lines.append(f"may be the best ({100 * self.level:g} %): {kept}")
        if self.optimism["log_loss"] > 0:
            less = f"{self.optimism['log_loss']:.2g}"
            lines.append(f"chosen on these rows, the best looks better by about {less}")
        return "\n".join(lines)


def compare(
    y_true: ArrayLike,
    probs: Mapping[str, ArrayLike],
    *,
    classes: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Comparison:
    """Compare the probabilities of several models for the same rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes, as in `evaluate`.
    probs : mapping of name -> array-like of shape (n,) or (n, n_classes)
        Of rows that the models were not fitted to: see `left_out_prob`. One of them may be
        "constant"; without it, the class shares of these rows stand in.
    classes, sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
        As in `evaluate`.

    Returns
    -------
    Comparison

    **Assumes** independent rows, or groups. The fits are taken as they are.

    Notes
    -----
    The best is chosen on the same rows, so its rivals are judged jointly: of several equally good
    models all are in `confidence_set` with probability `level`, however many there are. With two
    models left, `behind` is the interval of `loss_difference`.

    References
    ----------
    Hansen, Lunde and Nason (2011), The model confidence set, Econometrica 79(2).

    Examples
    --------
    >>> y = np.array([0, 0, 1, 0] * 50)
    >>> found = compare(y, {"sharp": y * 0.6 + 0.1, "blunt": y * 0.3 + 0.2})
    >>> found.best["log_loss"], found.tied()
    ('sharp', [])
    >>> print(found.behind["brier"]["blunt"])
    0.0625 [0.054, 0.0696] (90 %, bootstrap, one unseen row added; jointly for 3)
    """
    asked = Resampling.read(level, resamples, random_state)
    if not probs:
        raise _no_model()
    how = (classes, read_kind(sample_weight, weight_kind), inclusion, groups)
    first = Forecasts.read(y_true, next(iter(probs.values())), *how)
    held = {name: Forecasts.read(y_true, prob, *how) for name, prob in probs.items()}
    if CONSTANT not in held:
        weight = first.sample.weight
        share = np.bincount(first.place, weight, len(first.classes)) / weight.sum()
        flat = np.full(first.prob.shape, share if first.prob.ndim == 2 else share[1])
        held[CONSTANT] = replace(first, prob=flat)
    found = {name: evaluated(rows, asked) for name, rows in held.items()}
    order = sorted(found, key=lambda name: (found[name].log_loss.value, name == CONSTANT))
    ranked = {name: held[name] for name in order}
    verdicts = {loss: verdict_of(ranked, kind, asked) for loss, kind in BY_LOSS.items()}
    return Comparison(
        {name: found[name] for name in order},
        {loss: one.best for loss, one in verdicts.items()},
        {loss: one.behind for loss, one in verdicts.items()},
        {loss: one.ahead for loss, one in verdicts.items()},
        {loss: one.confidence_set for loss, one in verdicts.items()},
        {loss: one.optimism for loss, one in verdicts.items()},
        asked.level,
    )


class Verdict(NamedTuple):
    """What one loss says of all models; fields as in `Comparison`."""

    best: str
    behind: dict[str, Estimate]
    ahead: dict[str, Estimate]
    confidence_set: list[str]
    optimism: float


def verdict_of(held: Mapping[str, Forecasts], loss: str, asked: Resampling) -> Verdict:
    """Compare all models by one loss; the constant is one of them.

    Models with an infinite loss are compared one by one: they cannot be the best beside others.
    """
    first = next(iter(held.values()))
    rows = {name: row_losses(one.place, one.prob, loss) for name, one in held.items()}
    names = sorted(held, key=lambda name: float(first.sample.weight @ rows[name]))
    best = names[0]

    def difference(one: str, other: str, asked: Resampling) -> Estimate:
        return _difference(held[one], held[other].prob, loss, asked)

    finite = [name for name in names if np.isfinite(rows[name]).all()]
    if np.count_nonzero(first.counts) == 1:
        finite = []  # no limits at all
    behind = {n: difference(n, best, asked) for n in names if n not in finite and n != best}
    ahead = {n: difference(CONSTANT, n, asked) for n in names if n not in finite and n != CONSTANT}
    kept, optimism = [], np.nan
    if finite:
        joint = Joint(np.column_stack([rows[name] for name in finite]), first.sample, asked)

        def apart(i: int, j: int, asked: Resampling) -> Estimate:
            return difference(finite[i], finite[j], asked)

        chosen = choose(joint, apart)
        kept, optimism = [finite[i] for i in chosen.kept], chosen.optimism
        behind |= {finite[i]: one for i, one in chosen.behind.items()}
        if CONSTANT in finite:
            places = [i for i, name in enumerate(finite) if name != CONSTANT]
            gains = against_one(joint, finite.index(CONSTANT), places, apart)
            ahead |= {finite[i]: gain for i, gain in zip(places, gains, strict=True)}
        else:
            ahead |= {name: difference(CONSTANT, name, asked) for name in finite}
    kept = kept or [name for name in names if name == best or not behind[name].low > 0]
    return Verdict(
        best,
        {name: behind[name] for name in held if name != best},
        {name: ahead[name] for name in held if name != CONSTANT},
        kept,
        optimism,
    )


@dataclass(frozen=True, eq=False)
class CostComparison(Record):
    """Decisions of several rules on the same rows, by what they cost.

    Parameters
    ----------
    mean : dict of name -> Estimate
        Cost of a row.
    best : str
        The cheapest.
    behind : dict of name -> Estimate
        How much more each of the others costs than the cheapest; limits hold together.
    confidence_set : list of names
        The rules that may be the cheapest, as in `Comparison`.
    optimism : float
        How much cheaper the cheapest looks than it is, for having been chosen on the same rows.
    """

    mean: dict[str, Estimate]
    best: str
    behind: dict[str, Estimate]
    confidence_set: list[str]
    optimism: float

    @property
    def tied(self) -> list[str]:
        """The rules that cannot be told from the cheapest."""
        return [name for name in self.confidence_set if name != self.best]


def compare_costs(
    y_true: ArrayLike, actions: Mapping[str, ArrayLike], costs: CostsLike, **how: Any
) -> CostComparison:
    """Compare the decisions of several rules for the same rows by what they cost.

    Parameters
    ----------
    y_true, costs
        As in `mean_cost`.
    actions : mapping of name -> array-like of shape (n,)
        In any order; of several that cost least, the best is the first by name.
    **how
        `sample_weight`, `weight_kind`, `inclusion`, `groups`, `level`, `resamples` and
        `random_state`, as in `mean_cost`.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 0] * 50)
    >>> found = compare_costs(y, {"never": 0 * y, "right": y}, [[0, 40], [5, 0]])
    >>> found.best, found.tied, found.mean["never"].value
    ('right', [], 10.0)
    """
    names = sorted(actions, key=str)
    kind = how.pop("weight_kind", "survey")
    drawn = {name: how.pop(name, None) for name in ("sample_weight", "inclusion", "groups")}
    asked = Resampling.read(**how)
    counted = {**drawn, "sample_weight": read_kind(drawn["sample_weight"], kind)}
    held = {name: read_outcomes(y_true, actions[name], costs, **counted) for name in names}

    def apart(i: int, j: int, asked: Resampling) -> Estimate:
        wanted: dict[str, Any] = {**drawn, "level": asked.level, "resamples": asked.resamples}
        wanted["weight_kind"] = kind
        one, other = actions[names[i]], actions[names[j]]
        found = savings(y_true, other, costs, against=one, random_state=asked.seed, **wanted)
        return found.per_row

    rows = np.column_stack([one.cost(one.done, one.label) for one in held.values()])
    joint = Joint(rows, held[names[0]].sample, asked)
    chosen = choose(joint, apart)
    return CostComparison(
        {name: mean_of(held[name], asked, 1.0) for name in actions},
        names[int(np.argmin(joint.value))],
        {names[i]: one for i, one in chosen.behind.items()},
        [names[i] for i in sorted(chosen.kept, key=joint.value.__getitem__)],
        chosen.optimism,
    )


def loss_difference(
    y_true: ArrayLike,
    prob: ArrayLike,
    other: ArrayLike,
    *,
    loss: str = "log",
    classes: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Estimate:
    """Return how much more one set of probabilities loses than another on the same rows.

    Arguments as in `compare`; `loss` is "log" or "brier". Where one class has no row the limits are
    unknown.

    Examples
    --------
    >>> y, sharp, blunt = [0, 1, 0, 0] * 50, [0.1, 0.8, 0.1, 0.2] * 50, [0.2, 0.7, 0.3, 0.2] * 50
    >>> round(loss_difference(y, sharp, blunt).value, 3)
    -0.126
    """
    refuse_other_index(
        y_true=y_true,
        prob=prob,
        other=other,
        sample_weight=sample_weight,
        inclusion=inclusion,
        groups=groups,
    )
    asked = Resampling.read(level, resamples, random_state)
    refuse_word("loss", loss, LOSSES)
    rows = Forecasts.read(
        y_true, prob, classes, read_kind(sample_weight, weight_kind), inclusion, groups
    )
    against = Forecasts.read(
        y_true, other, classes, read_kind(sample_weight, weight_kind), inclusion, groups
    )
    return _difference(rows, against.prob, loss, asked)


def _difference(rows: Forecasts, other: Array, loss: str, asked: Resampling) -> Estimate:
    """How much more these probabilities lose than others of the same rows."""
    n = len(rows.classes)

    def values(k: int) -> Array:
        return (losses_if(rows.prob, k, loss) - losses_if(other, k, loss))[:, None]

    infinite = [bool(np.isinf(row_losses(rows.place, p, loss)).any()) for p in (rows.prob, other)]
    if all(infinite):
        return Estimate(np.nan, np.nan, np.nan, asked.level, "not identified", UNKNOWN)
    if any(infinite):
        end = np.inf if infinite[0] else -np.inf
        said = "what happened had probability 0 somewhere"
        return Estimate(end, end, end, asked.level, said, rows.sample.assumes)
    drawn = Bootstrap(rows.place, n, rows.sample, asked, values)
    found = drawn.estimate(lambda sums: np.asarray(sums[:, n] / sums[:, :n].sum(axis=1)))
    return found if np.count_nonzero(rows.counts) > 1 else untested(found)


def left_out_prob(
    models: Mapping[str, Any],
    X: Any,
    y: ArrayLike | None = None,
    *,
    folds: int = 5,
    groups: ArrayLike | None = None,
    random_state: int = 0,
    engine: Engine = None,
    progress: Progress | None = None,
) -> dict[str, Array]:
    """Return each model's probabilities of the rows that it was not fitted to.

    Parameters
    ----------
    models : mapping of name -> classifier
        Of scarce or scikit-learn; each is fitted anew, with the same folds for all. Those of other
        packages get a frame as it is, those of scarce without columns that name its rows.
    X : array-like of shape (n, n_features), table or Rows
    y : array-like of shape (n,), optional
        Classes; not needed where X holds them (`open_rows`). Rows without a label take no part.
    folds : int
    groups : array-like of shape (n,), optional
        Rows of one group are left out together.
    random_state : int
        Of the folds.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the fits.
    progress : callable (done, total), optional

    Returns
    -------
    dict of name -> ndarray of shape (n_labelled,) or (n_labelled, n_classes)
        Probability of the last of two classes, or of each class; "constant" first.

    **Assumes** that the rows fit into memory, and that rows which belong together are in one group.
    Probabilities are left as they are: a model with class weights or stated priors is for other
    base rates than the rows (`find_base_rates`), and a warning says so.

    Examples
    --------
    >>> from scarce import GaussianBayes, RareClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [90, 30])
    >>> X = rng.normal(size=(120, 1)) + y[:, None]
    >>> prob = left_out_prob({"bayes": GaussianBayes(), "rare": RareClassifier()}, X, y)
    >>> list(prob), compare(y, prob).best["brier"] != "constant"
    (['constant', 'bayes', 'rare'], True)
    """
    refuse_other_index(X=X, y=y, groups=groups)
    folds, random_state = read_integer(folds, "folds", 2), read_seed(random_state)
    if not isinstance(models, Mapping):
        raise UsageError(
            "{models} must be a mapping of names to classifiers, got {kind}.",
            code="no-mapping",
            models=Argument("models"),
            kind=type(models).__name__,
            remedy='Write {{"mine": model}}.',
        )
    if isinstance(X, Rows):
        rows = X
    else:
        rows = open_rows(X, label=y, drop=names_rows(X) if is_frame(X) else ())
    dealt = deal_rows(rows, folds, groups=groups, random_state=random_state)
    for name, model in models.items():
        _warn_other_base_rates(name, model, rows)
    fits: dict[str, tuple[Fit, Rows]] = {name: (_Fit(one), rows) for name, one in models.items()}
    if is_frame(X):  # others read a frame in their own way
        places = ArrayRows(
            np.arange(float(len(rows)))[:, None],
            rows.labels(),
            classes=rows.classes,
            check=False,
        )
        fits |= {n: (_FrameFit(m, X), places) for n, m in models.items() if not _takes_rows(m)}
    found = left_out(fits, dealt.folds, engine=engine, progress=progress)
    if len(rows.classes) == 2:
        return {name: prob[:, 1] for name, prob in found.items()}
    return found


def _warn_other_base_rates(name: str, model: Any, rows: Rows) -> None:
    """Say that a model's probabilities are for other base rates than those of the rows."""
    from scarce.prior.mix import TrainingRows, mix_of  # its room imports more of scikit-learn

    sums, _ = rows.label_counts()
    here = TrainingRows(np.asarray(rows.classes), sums, sums)
    found = mix_of(model, here)
    if found.rates is None or here.rates is None or not (here.rates > 0).all():
        return
    odds = np.log(found.rates) - np.log(here.rates)
    if np.ptp(odds) > np.log(OTHER_ODDS):
        warn_user(
            "{name!r} gives probabilities for the base rates {rates} ({reason}), and those of the "
            "rows are {here}: its losses are for the wrong base rates.",
            code="other-base-rates",
            name=name,
            rates=[float(f"{rate:.3g}") for rate in found.rates],
            reason=found.reason,
            here=[float(f"{rate:.3g}") for rate in here.rates],
            remedy="Compare PriorCorrected(model), which recalibrates it to the rows.",
        )


class _Fit:
    """Fits a copy of a classifier to rows: of scarce as they are, of others as arrays."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, rows: Rows) -> Any:
        model = clone(self.model)
        if _takes_rows(model):
            return model.fit(rows)
        return _Arrays(model.fit(rows.map(_features), rows.labels()))


def _takes_rows(model: Any) -> bool:
    """Whether a classifier is of scarce, and what it wraps too."""
    ours = type(model).__module__.partition(".")[0] == "scarce"
    return ours and (not hasattr(model, "estimator") or _takes_rows(model.estimator))


class _Arrays:
    """A fitted classifier that takes arrays, asked about rows."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict_proba(self, rows: Rows) -> Array:
        """Ask about the features of the rows."""
        return np.asarray(self.model.predict_proba(rows.map(_features)))


class _FrameFit:
    """Fits a copy of another package's classifier to rows of a frame, known by their numbers."""

    def __init__(self, model: Any, frame: Any) -> None:
        self.model, self.frame = model, frame

    def __call__(self, rows: Rows) -> Any:
        model = clone(self.model).fit(self.rows_of(rows), rows.labels())
        return _FrameFit(model, self.frame)

    def rows_of(self, rows: Rows) -> Any:
        """Return the rows of the frame with these numbers."""
        return _safe_indexing(self.frame, rows.map(_features)[:, 0].astype(np.intp))

    def predict_proba(self, rows: Rows) -> Array:
        """Ask about the rows of the frame with these numbers."""
        return np.asarray(self.model.predict_proba(self.rows_of(rows)))


class DealtRows(NamedTuple):
    """Folds of the rows with a label, and which of these rows belong together.

    Parameters
    ----------
    folds : ndarray of int, shape (n_labelled,)
        The fold in which each row is left out.
    groups : RowGroups
    """

    folds: Folds
    groups: RowGroups


def deal_rows(
    rows: Rows, n_folds: int, *, groups: ArrayLike | None = None, random_state: int = 0
) -> DealtRows:
    """Deal rows to the folds in which they are left out.

    Parameters
    ----------
    rows : Rows
        Those without a label take no part.
    n_folds : int
    groups : array-like of shape (n_rows,), optional
        Rows of one group are left out together; a missing value is a group of its own.
    random_state : int

    Examples
    --------
    >>> from scarce import open_rows
    >>> y = np.repeat([0, 1], [8, 4])
    >>> dealt = deal_rows(open_rows(np.arange(12.0)[:, None], label=y), 4)
    >>> np.bincount(dealt.folds), np.bincount(dealt.folds[8:])
    (array([3, 3, 3, 3]), array([1, 1, 1, 1]))
    """
    if n_folds < 2:
        raise UsageError(
            "{argument} must be an integer >= 2, got {value!r}.",
            code="integer-range",
            argument=Argument("folds"),
            value=n_folds,
        )
    y, weight = rows.labels(), np.asarray(rows.weights(), np.float64)
    codes = np.where(np.isnan(y) | (weight == 0), -1, y).astype(np.intp)
    counts = np.bincount(codes[codes >= 0])
    counts = counts[counts > 0]
    if len(counts) < 2:
        raise DataError(
            "All {rows} with a label are of one class: models cannot be told apart by rows of one "
            "class.",
            code="one-class",
            rows=in_rows(int(counts.sum())),
            remedy="Label rows of another class.",
        )
    if counts.min() < n_folds:
        raise DataError(
            "The rarest class has {rows} with a label, and {folds} folds need one each.",
            code="too-few-rows",
            rows=in_rows(int(counts.min())),
            folds=n_folds,
            remedy="Ask for fewer folds, or label more." if counts.min() > 1 else "Label more.",
        )
    found = row_groups(rows, codes, weight, groups=groups, seed=random_state)
    if found.fewest(codes) < n_folds:
        raise DataError(
            "The rows of some class stand in {fewest} of {groups:,} groups of rows that belong "
            "together, and {folds} folds need one each.",
            code="too-few-groups",
            fewest=found.fewest(codes),
            groups=found.n_groups,
            folds=n_folds,
            remedy=[
                "Ask for fewer folds, or label rows of that class in more groups.",
                "Or leave the groups out.",
            ],
        )
    folds = deal_folds(found, codes, weight, n_folds)[~np.isnan(y)]
    return DealtRows(np.maximum(folds, 0), found)  # rows of weight 0 count in no fold


def left_out(
    fits: Mapping[str, tuple[Fit, Rows]],
    folds: Folds,
    *,
    groups: ArrayLike | None = None,
    engine: Engine = None,
    progress: Progress | None = None,
) -> dict[str, Array]:
    """Return each fit's probabilities of the rows that it did not see, and the constant's.

    Parameters
    ----------
    fits : mapping of name -> (fit, rows)
        `fit(rows)`, or with groups `fit(rows, groups=...)`, returns a fitted classifier whose
        classes are those of the rows; the `fit` of an estimator fits a copy of it. Models may read
        the rows in different ways (categories as codes or one-hot); order, labels and weights must
        be the same.
    folds : ndarray of int, shape (n_labelled,)
        From `deal_rows`, of the rows with a label, in their order.
    groups : array-like of shape (n_labelled,), optional
        Given to every fit as `groups`, for what it chooses on left-out rows of its own.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the fits.
    progress : callable (done, total), optional

    Returns
    -------
    dict of name -> ndarray of shape (n_labelled, n_classes)
        "constant" first.

    Examples
    --------
    >>> from scarce import GaussianBayes, open_rows
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [90, 30])
    >>> rows = open_rows(rng.normal(size=(120, 1)) + y[:, None], label=y)
    >>> found = left_out({"bayes": (GaussianBayes().fit, rows)}, deal_rows(rows, 5).folds)
    >>> list(found), found["constant"][0]
    (['constant', 'bayes'], array([0.75, 0.25]))
    """
    if not fits:
        raise _no_model()
    first = next(iter(fits.values()))[1]
    y, weight = first.labels(), np.asarray(first.weights(), np.float64)
    known = np.flatnonzero(~np.isnan(y))
    if len(known) != len(folds):
        raise UsageError(
            "{rows} have a label, and folds are given for {folds:,}.",
            code="length-mismatch",
            rows=in_rows(len(known)),
            folds=len(folds),
            remedy="Deal the rows with a label.",
        )
    place, weight, n_classes = y[known].astype(np.intp), weight[known], len(first.classes)
    answers = {CONSTANT: np.empty((len(known), n_classes))}
    for number in np.unique(folds):
        seen = folds != number
        shares = np.bincount(place[seen], weight[seen], minlength=n_classes)
        answers[CONSTANT][~seen] = shares / shares.sum()
    together = None if groups is None else np.asarray(groups)
    tasks, spots = [], []
    for name, (fit, rows) in fits.items():
        X = rows.map(_features)[known]
        answers[name] = np.empty((len(known), n_classes))
        for number in np.unique(folds):
            out = folds == number
            tasks.append(partial(_ask, fit, X, place, weight, together, rows.schema, out))
            spots.append((name, out))
    with warnings.catch_warnings():  # a fit's warnings are in its report
        warnings.simplefilter("ignore")
        results = many(tasks, engine, progress=progress)
    unfinished: dict[str, int] = {}
    for (name, test), (prob, converged) in zip(spots, results, strict=True):
        answers[name][test] = prob
        unfinished[name] = unfinished.get(name, 0) + (not converged)
    for name, count in unfinished.items():
        if count:
            warn_user(
                "{name}: {count} of {folds} fits did not converge, so its figures are not those of "
                "a finished fit.",
                code="not-converged",
                name=name,
                count=count,
                folds=len(np.unique(folds)),
                remedy="Give it more iterations, or another setting.",
            )
    return answers


def _no_model() -> UsageError:
    return UsageError("There is no model to compare.", code="no-model", remedy="Name at least one.")


def _ask(
    fit: Fit,
    X: Array,
    place: NDArray[np.intp],
    weight: Array,
    groups: NDArray[Any] | None,
    schema: Any,
    test: NDArray[np.bool_],
) -> tuple[Array, bool]:
    """Fit on the other folds, and ask about this one; and whether the fit converged."""
    owner, train = getattr(fit, "__self__", None), ~test
    if hasattr(owner, "get_params"):  # a copy of the estimator, as fits may run side by side
        fit = clone(owner).fit
    rows = ArrayRows(X[train], place[train], weight=weight[train], schema=schema, check=False)
    model = fit(rows) if groups is None else fit(rows, groups=groups[train])
    prob = model.predict_proba(ArrayRows(X[test], schema=schema, check=False))
    converged = getattr(getattr(model, "report_", None), "converged", True)
    return np.asarray(prob, dtype=np.float64), bool(converged)


def _features(block: Block, _: Any) -> Array:
    """Kernel: the features themselves."""
    return block.X
