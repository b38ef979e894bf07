"""Which map turns a model's probabilities into calibrated ones, without believing a few events?

    log-odds' = log-odds + d . f(log-odds)      minimise  log loss + penalty/2 * |d|^2

    none         nothing is changed
    shift        f = 1: one base rate for another
    temperature  f = log-odds: all are drawn towards, or away from, even odds
    platt        both (of several classes a shift of each)
    beta         f = (log p, -log(1 - p), 1): small and great probabilities apart
    vector       several classes: log p of each class and a shift of each
    isotonic     no formula: any rising curve, each step drawn towards platt by one event

d = 0 changes nothing, so a map that few events ask for stays near the probabilities as they are.
The slopes have a penalty and are never negative; the shift has none, so that the mean probability
is the observed rate. What no row showed is not believed: probabilities are taken no further out
than those of the calibration rows, and every map mixes in a thousandth of the base rates, so that
nothing is called impossible.

Maps are compared on rows that they were not fitted to, and so is the choice among them. The
simplest one whose loss is within one standard error of the least is taken. Assumes that the
probabilities come from a model that had not seen the rows. Does not improve the order of rows
(isotonic only makes ties).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp
from sklearn.isotonic import isotonic_regression

from scarce.bootstrap import Inclusion, Seed, read_kind, read_sample
from scarce.checks import (
    name_column,
    read_labels,
    read_prob,
    read_seed,
    refuse_length,
    refuse_one_class,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Problem, refuse_word
from scarce.prior.shift import refuse_other_sum
from scarce.results import Record, short

Ids = NDArray[np.intp]

BINARY = ("none", "shift", "temperature", "platt", "beta", "isotonic")  # the simpler ones first
SEVERAL = ("none", "shift", "temperature", "platt", "vector")
TRIED = ("none", "shift", "platt", "beta", "isotonic")  # of two classes, by "auto"
METHODS = ("auto", *BINARY, "vector")
PENALTY = 5.0  # of a slope's distance from 1: as much as five units of its information
FIRM = 1e-6  # of a shift: only so that classes that are told apart exactly have a finite one
FLOOR = 0.001  # of the base rates, in every calibrated probability
FEWEST = 5  # events, or groups with one, below which nothing is calibrated
FEWEST_ROWS = 40  # independent rows of any class, the same
FOLDS = 5
MANY = 50_000  # rows above which a choice among few maps is no longer a matter of luck
SURE = 1.0  # standard errors within which the simpler map is taken
FLAT = 1e-9  # range of calibrated probabilities below which they are one number
MOST_STEPS = 100
TARGET = 1e-11  # gradient per unit of weight


@dataclass(frozen=True, eq=False)
class Calibration(Record):
    """A map from a model's probabilities to calibrated ones, and why it was chosen.

    Parameters
    ----------
    method : str
        "none", "shift", "temperature", "platt", "beta", "isotonic" or "vector".
    classes : tuple
        Names, in the order of the columns of probabilities.
    base_rates : ndarray of shape (n_classes,)
        Of the calibration rows.
    events : int
        Calibration rows of the rarest class.
    comparison : dict of dict
        Of each method and of "auto", the choice among them: `log_loss` and `brier` on left-out
        rows, `gain` in log loss over "none", each with its standard error (`log_loss_error`, ...).
        Above 50,000 rows "auto" is the method that was taken: the choice is not repeated.
    remarks : tuple of str
        What the reader should know.
    coef : ndarray
        d in the formula of `scarce.prior.calibrate`.
    knots : ndarray of shape (2, m)
        Of an isotonic map: log-odds before and after.
    least, low, high : ndarray
        Logarithms of probabilities, and log-odds, beyond which no calibration row lies.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.beta(1, 20, 2000)
    >>> y = rng.random(2000) < prob / 2          # twice too high
    >>> found = calibrate(y, prob)
    >>> found.method, found.apply([0.05, 0.2]).round(2)
    ('platt', array([0.02, 0.13]))
    """

    method: str
    classes: tuple[Hashable, ...]
    base_rates: Array
    events: int
    comparison: dict[str, dict[str, float]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    coef: Array = field(default_factory=lambda: np.empty(0))
    knots: Array = field(default_factory=lambda: np.empty((2, 0)))
    least: Array = field(default_factory=lambda: np.empty(0))
    low: Array = field(default_factory=lambda: np.empty(0))
    high: Array = field(default_factory=lambda: np.empty(0))

    def apply(self, prob: ArrayLike) -> Array:
        """Return calibrated probabilities, in the shape of those that are given.

        Parameters
        ----------
        prob : array-like of shape (n,) or (n, n_classes)
            Probability of the last of two classes, or of each class.
        """
        given = read_prob_columns(prob, len(self.classes))
        if self.method == "none":
            return given
        found = self.from_log(log_of(given))
        return found if given.ndim == 2 else found[:, 1]

    def from_log(self, log_prob: Array) -> Array:
        """Return calibrated probabilities (n, n_classes) from logarithms of probabilities.

        Rows of `log_prob` need not be normalised: only differences within a row count.
        """
        if self.method == "none":
            return np.asarray(np.exp(log_prob - logsumexp(log_prob, axis=1, keepdims=True)))
        held, odds = _odds(log_prob, self.least, self.low, self.high)
        if self.method == "isotonic":
            odds = np.interp(odds[:, 0], *self.knots)[:, None]
        else:
            odds = odds + _features(self.method, held, odds) @ self.coef
        return np.asarray((1.0 - FLOOR) * _from_odds(odds) + FLOOR * self.base_rates)

    def __str__(self) -> str:
        lines = [f"{'left-out rows':<14}{'log loss':>20}{'gain':>22}{'Brier':>12}"]
        for name, line in self.comparison.items():
            cells = [f"{short(line['log_loss'])} +- {short(line['log_loss_error'])}"]
            gain = f"{short(line['gain'])} +- {short(line['gain_error'])}"
            cells += ["" if name == "none" else gain, short(line["brier"])]
            lines.append(f"{name:<14}{cells[0]:>20}{cells[1]:>22}{cells[2]:>12}")
        lines = lines if self.comparison else []
        return "\n".join([*lines, f"taken: {self.method}", *(f"remark: {r}" for r in self.remarks)])


def calibrate(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    method: str = "auto",
    classes: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    random_state: Seed = 0,
) -> Calibration:
    """Find the map from probabilities to calibrated ones.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes: 0 or 1, or names of `classes`; missing where not labelled. Rows without a label
        are left out, or represented by the others with `inclusion`.
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of each class, by a model that was *not* fitted
        to these rows.
    method : {"auto", "none", "shift", "temperature", "platt", "beta", "isotonic", "vector"}
        "auto" chooses on left-out rows.
    classes : sequence, optional
        Names in the order of the columns; by default 0, 1, ....
    sample_weight, weight_kind, inclusion, groups
        As in `evaluate`: groups are left out whole.
    random_state : int or Generator
        Deals rows to folds. Their order does not matter.

    Returns
    -------
    Calibration
        `apply` maps probabilities of new rows. With fewer than five events or 40 rows it is "none".

    **Assumes** independent rows, or groups; that new rows are like these; and that the model has
    not seen them: on its training rows it looks better than it is.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.beta(1, 20, 3000)
    >>> y = rng.random(3000) < truth
    >>> sure = truth**2 / (truth**2 + (1 - truth) ** 2)            # slope 2: too sure
    >>> found = calibrate(y, sure)
    >>> found.method, found.coef.round(1)
    ('platt', array([-0.5, -0.1]))
    >>> calibrate(y, truth).method
    'none'
    """
    return calibrate_left_out(
        y_true,
        prob,
        method=method,
        classes=classes,
        sample_weight=sample_weight,
        weight_kind=weight_kind,
        inclusion=inclusion,
        groups=groups,
        random_state=random_state,
    )[0]


def calibrate_left_out(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    method: str = "auto",
    classes: Sequence[Hashable] | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    random_state: Seed = 0,
) -> tuple[Calibration, Array]:
    """Return the map as `calibrate` does, and each row's probability by a map fitted without it.

    With method="auto" the choice, too, is made without the row. Rows without a label, and those of
    weight 0, keep the probability that was given; so do all where nothing is changed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.beta(1, 20, 2000)
    >>> y = rng.random(2000) < prob / 2
    >>> found, left_out = calibrate_left_out(y, prob)
    >>> bool(abs(left_out.mean() - y.mean()) < 0.001), left_out.shape
    (True, (2000,))
    """
    refuse_other_index(
        y_true=y_true, prob=prob, sample_weight=sample_weight, inclusion=inclusion, groups=groups
    )
    given = read_prob_columns(prob, None if classes is None else len(classes))
    n, n_classes = len(given), 2 if given.ndim == 1 else given.shape[1]
    names = tuple(range(n_classes)) if classes is None else tuple(classes)
    place = _places(y_true, names, n)
    known, at, said = ~np.isnan(place), np.arange(n), given.copy()
    if inclusion is None and known.any():
        at = at[known]
        place, given = place[known], given[known]
        sample_weight = None if sample_weight is None else name_column(sample_weight, "w")[known]
        groups = None if groups is None else name_column(groups, "groups")[known]
        known = known[known]
    sample = read_sample(known, read_kind(sample_weight, weight_kind), inclusion, groups)
    codes, weight = place[sample.rows].astype(np.intp), sample.weight
    log_prob = log_of(given[sample.rows])
    owner = np.arange(len(codes)) if sample.group is None else sample.group
    folds = _dealt(log_prob, codes, weight, owner, read_seed(random_state))
    weight = weight * (len(weight) / weight.sum())
    found, left_out = _choose(log_prob, codes, weight, folds, owner, names, method)
    if left_out is not None:
        said[at[sample.rows]] = left_out if said.ndim == 2 else left_out[:, 1]
    return found, said


def read_prob_columns(prob: ArrayLike, n_classes: int | None) -> Array:
    """Return probabilities as floats, (n,) or (n, n_classes); refuse other shapes and sums."""
    given = np.asarray(prob)
    if given.ndim != 2:
        found = read_prob(prob)
        wrong = n_classes not in (None, 2)
    else:
        found = np.column_stack([read_prob(column) for column in given.T])
        wrong = n_classes not in (None, given.shape[1]) or given.shape[1] < 2
    if wrong:
        raise DataError(
            "{argument} has shape {shape} for {count} classes.",
            code="length-mismatch",
            argument=Argument("prob"),
            shape=found.shape,
            count=n_classes or "two or more",
            remedy="Give one probability for each row and class; of two classes, the last alone.",
        )
    if found.ndim == 2:
        refuse_other_sum(found.sum(axis=1), "prob")
    return found


def _places(y_true: ArrayLike, names: tuple[Hashable, ...], n: int) -> Array:
    """Return the position of each row's class, NaN where it has no label."""
    if names == (0, 1):
        return read_labels(y_true, n, "y_true")
    from scarce.checks import is_missing

    held = name_column(y_true, "y_true")
    refuse_length(held, n, "y_true")
    at = {name: float(place) for place, name in enumerate(names)}
    listed = held.tolist()
    for row, value in enumerate(listed):
        if not is_missing(value) and value not in at:
            raise DataError(
                "{argument} holds {label!r} at row {row:,}, which is not among the classes "
                "{classes}.",
                code="unknown-class",
                argument=Argument("y_true"),
                label=value,
                row=row,
                classes=list(names),
                remedy="Give {order} in the order of the columns of probabilities.",
                order=Argument("classes", ...),
            )
    return np.array([np.nan if is_missing(value) else at[value] for value in listed])


# --- choosing -------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """Rows to calibrate on: logarithms of probabilities, class, weight, fold, group."""

    log_prob: Array
    codes: Ids
    weight: Array
    folds: Ids
    owner: Ids

    def part(self, inside: NDArray[np.bool_]) -> _Rows:
        return _Rows(
            self.log_prob[inside],
            self.codes[inside],
            self.weight[inside],
            self.folds[inside],
            self.owner[inside],
        )

    def error(self, value: Array, inside: NDArray[np.bool_] | None = None) -> float:
        """Standard error of a weighted mean of rows, or of groups of rows."""
        owner, weight, value = self.owner, self.weight, value
        if inside is not None:
            owner, weight, value = owner[inside], weight[inside], value[inside]
        with np.errstate(invalid="ignore"):
            away = weight * (value - np.average(value, weights=weight))
        held = np.bincount(owner, away)
        return float(np.sqrt(held @ held) / weight.sum())


def choose(
    log_prob: Array,
    codes: Ids,
    weight: Array,
    folds: Ids,
    owner: Ids,
    classes: Sequence[Hashable],
    method: str = "auto",
    *,
    has_none: bool = True,
) -> Calibration:
    """Return the map of a method, or of the method that left-out rows ask for.

    Parameters
    ----------
    log_prob : ndarray of shape (n, n_classes)
        Logarithms of probabilities, or scores, of rows that the model had not seen.
    codes, weight, folds, owner : ndarray of shape (n,)
        Class, weight, fold and group of each row.
    classes : sequence
        Names.
    method : str
    has_none : bool
        Whether the scores are probabilities as they are.
    """
    return _choose(log_prob, codes, weight, folds, owner, classes, method, has_none=has_none)[0]


def _choose(
    log_prob: Array,
    codes: Ids,
    weight: Array,
    folds: Ids,
    owner: Ids,
    classes: Sequence[Hashable],
    method: str,
    *,
    has_none: bool = True,
) -> tuple[Calibration, Array | None]:
    """Return the map, and left-out probabilities, None where nothing was compared."""
    n_classes = len(classes)
    refuse_method(method, n_classes)
    rows = _Rows(log_prob, codes, weight, folds, owner)
    held = np.bincount(codes, weight, n_classes).astype(np.float64)
    refuse_one_class(classes, held)
    base = Calibration(
        "none",
        tuple(classes),
        held / held.sum(),
        int(np.bincount(codes, minlength=n_classes).min()),
    )
    few = _too_few(rows, n_classes)
    if few is not None and (has_none or method == "auto"):
        return replace(base, remarks=(few,)), None
    trials = _Trials(rows, base)
    tried: tuple[str, ...] = TRIED if n_classes == 2 else SEVERAL
    if method != "auto":
        tried = tuple(dict.fromkeys(("none", method)))
    tried = tried if has_none else tuple(one for one in tried if one != "none")
    zeros = bool(np.isneginf(log_prob).any())
    allowed: tuple[str, ...] = tried if method == "auto" else (method,)
    if method == "auto" and zeros:
        allowed = tuple(one for one in allowed if one != "none")
    if few is not None:
        return replace(trials.fitted(method, frozenset()), remarks=(few,)), None
    losses = {one: trials.left_out(one, frozenset()) for one in tried}
    taken, picks = allowed[0], dict.fromkeys(trials.parts, allowed[0])
    if method == "auto":
        taken = _decide(rows, losses, allowed)
        picks = dict.fromkeys(trials.parts, taken)
        if len(codes) <= MANY:
            picks = _nested(rows, trials, allowed)
        losses = {**losses, "auto": trials.judged(picks)}
        nested = losses["auto"]
        if "none" in allowed:
            gain = losses["none"][:, 0] - nested[:, 0]
            taken = taken if np.average(gain, weights=weight) > 0 else "none"
    lines = _compared(rows, losses)
    said = _remarks(taken, method, lines, zeros)
    found = trials.fitted(taken, frozenset())
    if taken != "none" and np.ptp(found.from_log(log_prob), axis=0).max() < FLAT:
        said = (
            *said,
            Problem(
                "The probabilities do not tell the classes apart on these rows, or rank them the "
                "wrong way round: every row gets the base rate.",
                code="no-ranking",
                remedy="Check which class the probabilities are of.",
            ),
        )
    found = replace(found, comparison=lines, remarks=said)
    return found, None if taken == "none" else trials.predicted(picks)


def refuse_method(method: str, n_classes: int) -> None:
    """Refuse unknown methods, and those of two classes where there are more."""
    refuse_word("method", method, METHODS)
    if n_classes > 2 and method in BINARY and method not in SEVERAL:
        raise DataError(
            "Only binary classification is supported. The type of the target is multiclass: "
            "{method} is for two classes, and there are {count}.",
            code="two-classes-needed",
            method=Argument("method", method),
            count=n_classes,
            several=Argument("method", "vector"),
            remedy="Use {several}.",
        )


def _too_few(rows: _Rows, n_classes: int) -> Problem | None:
    """Say that the rows of some class are too few to calibrate on; None where they are not."""
    pairs = np.unique(rows.owner * n_classes + rows.codes) % n_classes
    least = int(np.bincount(pairs, minlength=n_classes).min())
    parts = np.unique(rows.folds)
    bare = len(parts) < 3 or any(
        len(np.unique(rows.codes[(rows.folds != one) & (rows.folds != other)])) < n_classes
        for one in parts
        for other in parts
    )
    total = len(np.unique(rows.owner))
    if least >= FEWEST and total >= FEWEST_ROWS and not bare:
        return None
    return few_problem(total, least)


def few_problem(total: int, least: int) -> Problem:
    """Say that nothing is calibrated, because rows are too few."""
    return Problem(
        "Nothing is calibrated: {total:,} independent rows, {least} of the rarest class, cannot "
        "tell how probabilities are off (needed: {rows} and {needed}).",
        code="few-events",
        total=total,
        least=least,
        rows=FEWEST_ROWS,
        needed=FEWEST,
        remedy="Label more rows.",
    )


class _Trials:
    """Maps that were fitted without some folds, each once."""

    def __init__(self, rows: _Rows, base: Calibration) -> None:
        self.rows, self.base = rows, base
        self.parts: list[int] = np.unique(rows.folds).tolist()
        self._held: dict[tuple[str, frozenset[int]], Calibration] = {}

    def fitted(self, method: str, without: frozenset[int]) -> Calibration:
        """Return the map of all rows but those of some folds."""
        key = (method, without)
        if key not in self._held:
            inside = ~np.isin(self.rows.folds, list(without))
            self._held[key] = _fit(method, self.rows.part(inside), self.base)
        return self._held[key]

    def losses(self, method: str, without: frozenset[int], inside: NDArray[np.bool_]) -> Array:
        """Return log loss and Brier score of rows, (n, 2), by a map fitted without some folds."""
        codes, log_prob = self.rows.codes[inside], self.rows.log_prob[inside]
        prob = self.fitted(method, without).from_log(log_prob)
        happened = prob[np.arange(len(codes)), codes]
        brier = ((prob**2).sum(axis=1) - 2 * happened + 1) / 2
        if method == "none":  # where a probability rounds to 0 and its logarithm is known
            log = logsumexp(log_prob, axis=1) - log_prob[np.arange(len(codes)), codes]
        else:
            log = -np.log(happened)
        return np.column_stack([log, brier])

    def judged(self, picks: dict[int, str]) -> Array:
        """Return the losses of each row by the method of its fold, fitted without the fold."""
        found = np.empty((len(self.rows.codes), 2))
        for part, method in picks.items():
            here = self.rows.folds == part
            found[here] = self.losses(method, frozenset({part}), here)
        return found

    def predicted(self, picks: dict[int, str]) -> Array:
        """Return the probabilities of each row by the method of its fold, fitted without it."""
        found = np.empty(self.rows.log_prob.shape)
        for part, method in picks.items():
            here = self.rows.folds == part
            found[here] = self.fitted(method, frozenset({part})).from_log(self.rows.log_prob[here])
        return found

    def left_out(self, method: str, without: frozenset[int]) -> Array:
        """Return the losses of each row by a map fitted without it; NaN in folds `without`."""
        found = np.full((len(self.rows.codes), 2), np.nan)
        for part in self.parts:
            if part not in without:
                here = self.rows.folds == part
                found[here] = self.losses(method, without | {part}, here)
        return found


def _decide(
    rows: _Rows,
    losses: dict[str, Array],
    allowed: Sequence[str],
    inside: NDArray[np.bool_] | None = None,
) -> str:
    """Return the simplest method whose loss is within a standard error of the least."""
    every = np.ones(len(rows.codes), dtype=bool) if inside is None else inside
    weight = rows.weight[every]
    mean = {one: float(np.average(losses[one][every, 0], weights=weight)) for one in allowed}
    best = min(mean, key=lambda one: mean[one])
    for one in allowed:
        if np.isinf(mean[one]):
            continue
        apart = losses[one][:, 0] - losses[best][:, 0]
        if mean[one] - mean[best] <= SURE * rows.error(apart, every):
            return one
    return best


def _nested(rows: _Rows, trials: _Trials, allowed: Sequence[str]) -> dict[int, str]:
    """Return for each fold the method that is chosen without it."""
    picks = {}
    for part in trials.parts:
        losses = {one: trials.left_out(one, frozenset({part})) for one in allowed}
        picks[part] = _decide(rows, losses, allowed, rows.folds != part)
    return picks


def _compared(rows: _Rows, losses: dict[str, Array]) -> dict[str, dict[str, float]]:
    """Return the figures of each method on left-out rows."""
    lines = {}
    for name, (loss, brier) in ((name, held.T) for name, held in losses.items()):
        with np.errstate(invalid="ignore"):
            gain = losses.get("none", losses[name])[:, 0] - loss
            gain = np.where(np.isnan(gain), 0.0, gain)
        lines[name] = {
            "log_loss": float(np.average(loss, weights=rows.weight)),
            "log_loss_error": rows.error(loss),
            "gain": float(np.average(gain, weights=rows.weight)),
            "gain_error": rows.error(gain),
            "brier": float(np.average(brier, weights=rows.weight)),
            "brier_error": rows.error(brier),
        }
    return lines


def _remarks(
    taken: str, method: str, lines: dict[str, dict[str, float]], zeros: bool
) -> tuple[str, ...]:
    """Say what is not certain about the choice."""
    said: list[str] = []
    if zeros:
        said.append(
            Problem(
                "Some rows were given a probability of exactly 0, which no number of rows "
                "supports: calibrated probabilities are never 0 or 1.",
                code="certain-probabilities",
            )
        )
    line = lines.get(method)
    unsure = line is not None and not line["gain"] > line["gain_error"]
    # Above a probability of 0 for what happened, the gain is infinite and has no error.
    if line is not None and method != "none" and unsure and line["gain"] < np.inf:
        if "none" in lines and taken == "none":
            best = max((one for one in lines if one not in ("none", "auto")), key=lambda one:
                       lines[one]["gain"])  # fmt: skip
            line = lines[best]
            said.append(
                Problem(
                    "Nothing is changed: on left-out rows the probabilities as they are cannot be "
                    "told from calibrated ones (gain in log loss of {method} {gain:.2g}, standard "
                    "error {error:.2g}).",
                    code="calibrated-already",
                    method=best,
                    gain=line["gain"],
                    error=line["gain_error"],
                )
            )
        elif "none" in lines:
            said.append(
                Problem(
                    "The gain in log loss over the probabilities as they are is within its noise "
                    "({gain:.2g}, standard error {error:.2g}).",
                    code="gain-within-noise",
                    gain=line["gain"],
                    error=line["gain_error"],
                )
            )
    return tuple(said)


def _dealt(log_prob: Array, codes: Ids, weight: Array, owner: Ids, seed: int) -> Ids:
    """Deal groups to folds, each class spread evenly, whatever the order of rows."""
    order = np.lexsort((weight, *log_prob.T, codes))
    rank = np.empty(len(codes), dtype=np.intp)
    rank[order] = np.arange(len(codes))
    groups = int(owner.max()) + 1
    first = np.full(groups, len(codes))
    np.minimum.at(first, owner, rank)
    rarity = np.bincount(codes)
    label = np.full(groups, codes.max())
    for k in np.argsort(-rarity, kind="stable"):  # a group belongs to its rarest class
        label[owner[codes == k]] = k
    turn = np.random.default_rng([seed, 7]).permutation(len(codes))
    folds, dealt = np.empty(groups, dtype=np.intp), 0
    for k in np.argsort(rarity, kind="stable"):
        members = np.flatnonzero(label == k)
        members = members[np.argsort(turn[first[members]])]
        folds[members] = (dealt + np.arange(len(members))) % FOLDS
        dealt += len(members)
    return folds[owner]


# --- the maps -------------------------------------------------------------------------------------


def log_of(prob: Array) -> Array:
    """Return logarithms of probabilities, (n, n_classes), from those of the last class or of all.

    Examples
    --------
    >>> log_of(np.array([0.0, 0.5])).round(2)
    array([[ 0.  ,  -inf],
           [-0.69, -0.69]])
    """
    with np.errstate(divide="ignore"):
        if prob.ndim == 1:
            return np.column_stack([np.log1p(-prob) + 0.0, np.log(prob)])
        return np.asarray(np.log(prob))


def _odds(log_prob: Array, least: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return logarithms and log-odds against the first class, no further out than was seen."""
    held = np.maximum(log_prob, least)
    return held, np.clip(held[:, 1:] - held[:, :1], low, high)


def _from_odds(odds: Array) -> Array:
    """Return probabilities of all classes from log-odds against the first."""
    if odds.shape[1] == 1:
        return np.column_stack([expit(-odds[:, 0]), expit(odds[:, 0])])
    whole = np.column_stack([np.zeros(len(odds)), odds])
    return np.asarray(np.exp(whole - logsumexp(whole, axis=1, keepdims=True)))


def _features(method: str, log_prob: Array, odds: Array) -> Array:
    """Return what the coefficients multiply, (n, n_classes - 1, count)."""
    n, m = odds.shape
    shifts = np.broadcast_to(np.eye(m), (n, m, m))
    if method == "shift":
        return shifts
    if method == "temperature":
        return odds[:, :, None]
    if method == "platt":
        return np.concatenate([odds[:, :, None], shifts], axis=2)
    if method == "beta":
        of_event, of_other = -np.logaddexp(0, -odds), np.logaddexp(0, odds)
        return np.stack([of_event, of_other, np.ones_like(odds)], axis=2)
    slopes = log_prob[:, None, 1:] * np.eye(m)  # vector
    first = np.broadcast_to(-log_prob[:, None, :1], (n, m, 1))
    return np.concatenate([first, slopes, shifts], axis=2)


def _slopes(method: str, m: int) -> int:
    """Return how many of the coefficients, the first ones, are distances of slopes from 1."""
    return {"shift": 0, "temperature": 1, "platt": 1, "beta": 2}.get(method, m + 1)


def _fit(method: str, rows: _Rows, base: Calibration) -> Calibration:
    """Fit one map to rows."""
    if method == "none":
        return base
    held = np.bincount(rows.codes, rows.weight, len(base.base_rates))
    finite = np.where(np.isneginf(rows.log_prob), np.inf, rows.log_prob)
    least = finite.min(axis=0) - 1.0 * np.isneginf(rows.log_prob).any(axis=0)
    least = np.where(np.isfinite(least), least, np.log(FLOOR))
    _, odds = _odds(rows.log_prob, least, np.array(-np.inf), np.array(np.inf))
    low, high = odds.min(axis=0), odds.max(axis=0)
    found = replace(
        base, method=method, base_rates=held / held.sum(), least=least, low=low, high=high
    )
    logs, odds = _odds(rows.log_prob, least, low, high)
    if method == "isotonic":
        return replace(found, knots=_curve(odds[:, 0], rows))
    features, slopes = _features(method, logs, odds), _slopes(method, odds.shape[1])
    count = features.shape[2]
    penalty = np.where(np.arange(count) < slopes, PENALTY, FIRM)
    bound = np.where(np.arange(count) < slopes, -1.0, -np.inf)
    return replace(found, coef=_minimise(odds, features, rows, penalty, bound))


def _minimise(odds: Array, features: Array, rows: _Rows, penalty: Array, bound: Array) -> Array:
    """Return the coefficients of least penalised log loss, by Newton steps inside the bounds."""
    n, m, count = features.shape
    flat = np.ascontiguousarray(features).reshape(n * m, count)
    hit = (rows.codes[:, None] == np.arange(1, m + 1)).astype(np.float64)
    total, weight = float(rows.weight.sum()), rows.weight

    def look(point: Array) -> tuple[float, Array]:
        z = odds + (flat @ point).reshape(n, m)
        top = np.logaddexp(0.0, z[:, 0]) if m == 1 else np.logaddexp(0.0, logsumexp(z, axis=1))
        value = float(weight @ (top - (hit * z).sum(axis=1))) + 0.5 * float(penalty @ point**2)
        return value, np.exp(z - top[:, None])

    point = np.zeros(count)
    value, prob = look(point)
    for _ in range(MOST_STEPS):
        pull = weight[:, None] * (prob - hit)
        slope = flat.T @ pull.ravel() + penalty * point
        free = ~((point <= bound) & (slope > 0))
        if np.abs(slope[free]).max(initial=0.0) <= TARGET * total:
            break
        mean = np.einsum("nm,nmq->nq", prob, features) if m > 1 else prob * flat
        curve = flat.T @ (flat * (weight[:, None] * prob).ravel()[:, None])
        curve -= (mean.T * weight) @ mean
        curve += np.diag(penalty)
        step = np.zeros(count)
        step[free] = -np.linalg.solve(curve[np.ix_(free, free)], slope[free])
        length = 1.0
        while True:
            trial = np.maximum(point + length * step, bound)
            new, prob = look(trial)
            gain = float(slope @ (trial - point))
            if new <= value + 1e-4 * gain + 1e-13 * abs(value) or length < 1e-10:
                break
            length /= 2
        point, value = trial, new
    return point


def _curve(odds: Array, rows: _Rows) -> Array:
    """Return the knots of a rising curve: mean log-odds of each step, and what it is given.

    The first step is made to hold two events, and the last two rows of the other class. A step's
    rate is drawn towards that of a Platt map by as many rows as hold one event, and the curve runs
    straight between the middles of steps (centred isotonic regression).
    """
    event, weight = (rows.codes == 1).astype(np.float64), rows.weight
    values, place = np.unique(odds, return_inverse=True)
    mass = np.bincount(place, weight)
    rate = np.bincount(place, weight * event) / mass
    fitted = isotonic_regression(rate, sample_weight=mass)
    block = np.cumsum(np.append(True, np.diff(fitted) > 1e-12)) - 1
    events, others = (np.bincount(place, one).astype(float) for one in (event, 1 - event))
    block = _ends_joined(block, events, others)
    size = np.bincount(block, mass)
    middle = np.bincount(block, mass * values) / size
    seen = np.bincount(block, mass * rate)
    features = np.stack([odds[:, None], np.ones((len(odds), 1))], axis=2)
    penalty, bound = np.array([PENALTY, FIRM]), np.array([-1.0, -np.inf])
    slope, shift = _minimise(odds[:, None], features, rows, penalty, bound)
    guess = expit(middle * (1.0 + slope) + shift)
    share = float(weight @ event / weight.sum())
    extra = 1.0 / min(share, 1.0 - share)
    drawn = (seen + extra * guess) / (size + extra)
    drawn = np.clip(isotonic_regression(drawn, sample_weight=size), 1e-300, 1 - 1e-16)
    return np.stack([middle, np.log(drawn) - np.log1p(-drawn)])


def _ends_joined(block: Ids, events: Array, others: Array) -> Ids:
    """Return steps of which the first holds two events, and the last two rows of the other class.

    Examples
    --------
    >>> _ends_joined(np.array([0, 1, 2, 3]), np.array([0.0, 1, 1, 2]), np.array([4.0, 1, 1, 0]))
    array([0, 0, 0, 0])
    """
    first = block[min(int(np.searchsorted(np.cumsum(events), 2.0)), len(block) - 1)]
    last = block[max(len(block) - 1 - int(np.searchsorted(np.cumsum(others[::-1]), 2.0)), 0)]
    block = np.maximum(block, first)
    block = np.where(block >= last, max(last, first), block)
    return np.asarray(np.unique(block, return_inverse=True)[1], dtype=np.intp)
