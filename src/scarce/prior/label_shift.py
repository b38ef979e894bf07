"""What is today's base rate, from the probabilities of rows that nobody labelled?

    mean over today's rows of h  =  sum_k pi_k * mean over validation rows of class k of h
    h = the probabilities, recalibrated to pi itself

Under label shift (only the base rates differ) this holds for every h of the scores, whether the
probabilities are calibrated or not, and this h has the least variance where they are. With h = the
probabilities as they are it is the probabilistic adjusted count (Bella and others 2010); where the
validation means are those that calibrated probabilities imply, it is EM's fixed point (Saerens and
others 2002), which is what is left without validation rows. Where the rows say little the estimate
is drawn to the base rate of training:

    minimise  g(pi)' V(pi)^-1 g(pi) + (shift of the log-odds / 1.5)^2,   g = left side - right side

so a base rate that differs by a factor of 4.5 in odds is one standard deviation away, whatever the
data. Intervals are not drawn anywhere. Assumes label shift, and tests it: see mixture_test.py. Does
not recalibrate: `correct_prior` and `PriorCorrected` take the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_array
from scipy.special import expit, logit, ndtri, softmax

from scarce.bootstrap import (
    FEW,
    Resampling,
    Sample,
    Seed,
    as_estimate,
    draw_groups,
    few_remarks,
    outer_limits,
    read_sample,
    typical_weight,
    unseen_weights,
)
from scarce.checks import Shares, read_shares, refuse_length, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Phrase, Problem, UsageError, warn_user
from scarce.io.labels import label_array, missing_labels
from scarce.prior.mixture_test import SIGNIFICANT, MixtureTest, mixture
from scarce.prior.shift import read_class_prob
from scarce.results import Estimate, Record, in_rows, short

SHIFT = 1.5  # standard deviation of the shift in log-odds that the estimate is drawn by
FARTHEST = 9.0  # shift in log-odds that is looked for
LEAST_EVENTS = 5  # validation rows of each class
LOST = 0.01  # part of the resamples in which classes are not told apart, from which on it is said
OFF = 1.25  # times the odds, and standard errors, by which probabilities are off, before it is said
OFF_ERRORS = 3.0
MOVED = 0.25  # of the distance between two classes, by which scores may have moved unnoticed
SEEN = 0.8  # part of such samples in which the test speaks, from which on nothing is said
MOST_UNITS = 16_384  # rows, or groups, that are resampled one by one; more are put together
CELLS = 4096  # of equal weight, in which more rows of two classes are searched
PROFILED, HALVINGS = 50, 12  # steps of EM, and of a search
SECOND = 2**33  # added to the seed for the second of two independent samples
ADJUSTED = "adjusted count of recalibrated probabilities"
EM = "EM"
LABEL_SHIFT = (
    "label shift: today's rows of a class are as the validation rows of the class; all are "
    "independent draws"
)
CONTRADICTED = LABEL_SHIFT + "; today's scores contradict this"
CALIBRATED = (
    "label shift, and probabilities that are calibrated at trained_at, of which nothing was seen: "
    "the interval counts the sampling error of today's rows alone"
)


@dataclass(frozen=True, eq=False)
class ShareEstimate(Record):
    """Today's base rates, with intervals and a test of label shift.

    It goes as it is to `correct_prior(prob, trained_at, now_at)`, `PriorCorrected(prior=)`,
    `decide(now_at=)`, `decide_between(now_at=)` and `StablePrior.share`, which warn where the test
    speaks against label shift.

    Parameters
    ----------
    classes : tuple of names
        In the order of the probabilities; 0, 1, ... where nobody said their names.
    shares : tuple of Estimate
        Base rate of each class.
    trained_at : tuple of float
        Base rates that the probabilities are for.
    p_value : float
        Of "today's scores are a mixture of those of the classes", which label shift implies: small
        where rows within a class have changed. NaN where there is nothing to tell, or fewer than
        ten rows today.
    rows : int
        Today's rows.
    counts : tuple of int
        Validation rows of each class; empty without validation.
    named : bool
        Whether the classes have names, or positions alone.
    remarks : tuple of str
        What the reader should know, most important first.
    """

    classes: tuple[Any, ...]
    shares: tuple[Estimate, ...]
    trained_at: tuple[float, ...]
    p_value: float
    rows: int
    counts: tuple[int, ...]
    named: bool
    remarks: tuple[str, ...] = ()

    @property
    def share(self) -> Estimate:
        """Base rate of the last class, that of the event where there are two."""
        return self.shares[-1]

    @property
    def is_label_shift(self) -> bool | None:
        """Whether the test has nothing against label shift at 5 %; None where there is no test."""
        return None if np.isnan(self.p_value) else self.p_value > SIGNIFICANT

    @property
    def low(self) -> Array:
        """Lower limits, one for each class."""
        return np.array([one.low for one in self.shares])

    @property
    def high(self) -> Array:
        """Upper limits, one for each class."""
        return np.array([one.high for one in self.shares])

    def as_base_rates(self) -> dict[Any, float] | Array:
        """Return the estimates by class, or in order where the classes have no names."""
        values = [one.value for one in self.shares]
        return dict(zip(self.classes, values, strict=True)) if self.named else np.array(values)

    def warn_if_contradicted(self) -> None:
        """Warn if today's scores contradict label shift; whatever takes the estimate calls this."""
        for one in self.remarks:
            if isinstance(one, Problem) and one.code == "not-label-shift":
                warn_user(one)

    def warn_if_off(self, trained_at: ArrayLike) -> None:
        """Warn if probabilities that are taken to be for these base rates were seen not to be."""
        if np.allclose(trained_at, self.trained_at, rtol=1e-9):
            for one in self.remarks:
                if isinstance(one, Problem) and one.code == "probabilities-off":
                    warn_user(one)

    def __str__(self) -> str:
        shown = range(len(self.classes)) if len(self.classes) > 2 else (1,)
        lines = [
            f"base rate of {self.classes[k]!s} today: {self._told(k)}, "
            f"{short(self.trained_at[k])} in training"
            for k in shown
        ]
        lines.append(f"{100 * self.share.level:g} %, {self.share.method}; {in_rows(self.rows)}")
        if not np.isnan(self.p_value):
            verdict = (
                "nothing against it" if self.is_label_shift else "it is not only the base rate"
            )
            lines.append(f"test of label shift: p = {short(self.p_value)}, {verdict}")
        return "\n".join([*lines, *self.remarks])

    def _told(self, k: int) -> str:
        """Return a base rate for people, with what it rests on where the scores contradict it."""
        told = self.shares[k].brief()
        if self.is_label_shift is not False:
            return told
        return f"not known ({told} under label shift, which today's scores contradict)"


def estimate_share(
    prob_now: ArrayLike,
    *,
    trained_at: Shares | None = None,
    validation: Sequence[ArrayLike] | Mapping[str, Any] | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> ShareEstimate:
    """Estimate today's base rates from the probabilities of today's unlabelled rows.

    Parameters
    ----------
    prob_now : array-like of shape (n,) or (n, n_classes)
        Probabilities that a classifier gives to today's rows: of the positive (last) of two
        classes, or of every class.
    trained_at : float, array-like of shape (n_classes,), dict or Series, optional
        Base rates that the probabilities are for (`find_base_rates`). By default those of the
        validation rows, and a remark says where the probabilities do not average to them, such as
        those of an under-sampled model; needed without validation.
    validation : (y, prob) or dict, optional
        Labels of rows that the classifier did not learn from, and their probabilities by the same
        fit: a held-out part. Left-out predictions of folds (`left_out_prob`, `cross_val_predict`)
        are those of other fits: good for the estimate, but the test takes the difference for a
        change (see Notes).
        A dict may hold "sample_weight", "inclusion" and "groups" beside "y" and "prob", as
        `evaluate` takes them; rows without a label need "inclusion".
    classes : array-like of shape (n_classes,), optional
        Names of the classes in the order of the probabilities, such as `model.classes_`. By default
        the sorted labels of the validation rows.
    sample_weight, groups : array-like of shape (n,), optional
        Of today's rows: how much of the population a row stands for, and which rows belong
        together.
    level : float
    resamples : int, optional
    random_state : int, Generator or RandomState

    Returns
    -------
    ShareEstimate
        `share` is the base rate of the last class, with its interval; `p_value` tests label shift.

    **Assumes** label shift: rows of a class are today as they were in validation, only their number
    has changed. Without validation rows also that the probabilities are calibrated at `trained_at`;
    then nothing can be tested.

    Notes
    -----
    The interval resamples today's rows and those of each class (`scarce.bootstrap`), one unseen
    row added. It is [0, 1] where the classes cannot be told apart. How often it holds the truth,
    and how often the test speaks, is measured in experiments/base_rates.
    On 72 cases of UCI tables the test speaks falsely in 27 % with left-out predictions of folds.

    There is no test with fewer than ten rows today. The test sees large changes of many rows only,
    and for two classes a remark ("weak-test") says so: where scores that have moved by a quarter of
    the distance between the medians of the classes (log-odds; of all rows, or of the last class)
    would put the base rate outside of the interval, and the test misses that in more than a fifth
    of simulated samples. (In fresh ones it misses more: see `MixtureTest.power`.)

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
    probabilities. Bella, Ferri, Hernandez-Orallo and Ramirez-Quintana (2010), Quantification via
    probability estimators. Lipton, Wang and Smola (2018), Detecting and correcting for label shift.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def draw(n, share):
    ...     y = (rng.random(n) < share).astype(int)
    ...     score = rng.normal(size=n) + 2 * y
    ...     return y, 1 / (1 + 9 * np.exp(2 - 2 * score))    # calibrated at 10 %
    >>> y, prob = draw(2000, 0.1)
    >>> _, prob_now = draw(2000, 0.03)
    >>> found = estimate_share(prob_now, validation=(y, prob))
    >>> print(found)
    base rate of 1 today: 0.0299 [0.0133, 0.0437], 0.105 in training
    90 %, adjusted count of recalibrated probabilities; 2,000 rows
    test of label shift: p = 0.542, nothing against it
    The interval holds for label shift alone. If today's scores, or those of 1 alone, had moved ...
    >>> from scarce import correct_prior
    >>> float(correct_prior(prob_now, 0.1, found).mean().round(3))
    0.03
    """
    asked = Resampling.read(level, resamples, random_state)
    refuse_other_index(prob_now=prob_now, sample_weight=sample_weight, groups=groups)
    now = read_class_prob(prob_now, "prob_now")
    n_classes = now.shape[1]
    if classes is not None:
        now = _in_class_order(now, prob_now, np.asarray(classes).tolist())
    today = read_sample(np.ones(len(now), dtype=bool), sample_weight, None, groups)
    if validation is None:
        names, named = _names(prob_now, classes, None, n_classes)
        if trained_at is None:
            raise UsageError(
                "{trained_at} is needed without {validation}: it says for which base rates the "
                "probabilities are.",
                code="no-base-rate",
                trained_at=Argument("trained_at"),
                validation=Argument("validation"),
                remedy="Give validation=(y, prob), which also makes the estimate hold for "
                "probabilities that are not calibrated.",
            )
        before = read_shares(trained_at, names if named else n_classes, "trained_at")
        return _by_em(_Part.of(now, today), before, asked, names, named)
    y, prob, sample = _read_validation(validation, n_classes)
    names, named = _names(prob_now, classes, y, n_classes)
    given = validation["prob"] if isinstance(validation, Mapping) else validation[1]
    prob = _in_class_order(prob, given, names)
    kind = _kinds(y, names)[sample.rows]
    parts = [_Part.of(prob, sample, kind == k) for k in range(n_classes)]
    _refuse_few(parts, names)
    if trained_at is None:
        before = np.array([one.weight.sum() for one in parts])
        before = before / before.sum()
    else:
        before = read_shares(trained_at, names, "trained_at")
    return _adjusted(_Part.of(now, today), parts, before, asked, names, named)


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows of one sample, or of one class of it.

    `place` are their positions among the rows of the sample; none where rows were put together.
    """

    prob: Array
    weight: Array
    sample: Sample
    place: NDArray[np.intp]

    @classmethod
    def of(cls, prob: Array, sample: Sample, mask: NDArray[np.bool_] | None = None) -> _Part:
        """Return the labelled rows of a sample, or those of them in a mask."""
        place = np.arange(len(sample.rows)) if mask is None else np.flatnonzero(mask)
        return cls(prob[sample.rows[place]], sample.weight[place], sample, place)

    @property
    def group(self) -> NDArray[np.intp] | None:
        """The group of each row."""
        return None if self.sample.group is None else self.sample.group[self.place]

    def effective(self) -> float:
        """Return the number of independent rows of equal weight that say as much."""
        total = self.weight.sum()
        alone = float(total**2 / (self.weight @ self.weight)) if total > 0 else 0.0
        group = self.group
        if group is None:
            return alone
        off = self.weight * (self.prob[:, -1] - self.weight @ self.prob[:, -1] / total)
        lumps = np.bincount(group, off)
        spread = float(off @ off)
        held = np.bincount(group, self.weight)
        least = float(total**2 / (held @ held))
        return max(least, alone * min(1.0, spread / float(lumps @ lumps)) if spread > 0 else least)


def _read_validation(
    validation: Sequence[ArrayLike] | Mapping[str, Any], n_classes: int
) -> tuple[NDArray[Any], Array, Sample]:
    """Return labels, probabilities and the sample of the rows that have a label."""
    known = ("y", "prob", "sample_weight", "inclusion", "groups")
    if isinstance(validation, Mapping):
        held = dict(validation)
    elif isinstance(validation, (tuple, list)) and len(validation) == 2:
        held = dict(zip(known, validation, strict=False))
    else:
        held = {}
    if not {"y", "prob"} <= set(held) or set(held) - set(known):
        raise UsageError(
            "{validation} must be (y, prob), or a dict with y, prob and possibly sample_weight, "
            "inclusion and groups, got {seen}.",
            code="validation-type",
            validation=Argument("validation"),
            seen=sorted(map(str, held)) if held else type(validation).__name__,
        )
    refuse_other_index(**{name: held[name] for name in held})
    prob = read_class_prob(held["prob"], "prob")
    y = label_array(held["y"])
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    refuse_length(y, len(prob), "y")
    if prob.shape[1] != n_classes:
        raise DataError(
            "The validation rows have probabilities of {seen} classes, and today's of {count}.",
            code="class-count",
            seen=prob.shape[1],
            count=n_classes,
            remedy="Take both from the same classifier.",
        )
    sample = read_sample(
        ~missing_labels(y), held.get("sample_weight"), held.get("inclusion"), held.get("groups")
    )
    return y, prob, sample


def _names(
    prob: Any, classes: ArrayLike | None, y: NDArray[Any] | None, n_classes: int
) -> tuple[list[Any], bool]:
    """Return the names of the classes, and whether anybody said them."""
    if classes is not None:
        order: list[Any] = np.asarray(classes).tolist()
    elif hasattr(prob, "columns") and len(prob.columns) == n_classes:
        order = list(prob.columns)
    elif y is not None:
        known = y[~missing_labels(y)]
        order = np.unique(np.array(known.tolist())).tolist()
    else:
        return list(range(n_classes)), False
    if classes is None and y is not None and len(order) != n_classes:
        raise UsageError(
            "The labels of the validation rows are {order}, {count} in all, and the probabilities "
            "are for {n_classes} classes.",
            code="class-mismatch",
            order=order[:4],
            count=len(order),
            n_classes=n_classes,
            remedy="Give labelled rows of every class."
            if len(order) < n_classes
            else "The order is validation=(y, prob); for several classes prob is predict_proba(X).",
        )
    if len(order) != n_classes or len(set(order)) != n_classes:
        raise UsageError(
            "There are {count} classes {order}, and the probabilities are for {n_classes}.",
            code="class-mismatch",
            count=len(order),
            order=order[:10],
            n_classes=n_classes,
            classes=Argument("classes", ...),
            remedy="Name them in the order of the probabilities with {classes}, such as "
            "model.classes_.",
        )
    return order, True


def _in_class_order(prob: Array, table: Any, names: list[Any]) -> Array:
    """Return the columns in the order of the names, where those of a table are the same names."""
    held = list(getattr(table, "columns", ()))
    if len(held) != len(names) or set(held) != set(names):
        return prob
    return prob[:, [held.index(name) for name in names]]


def _kinds(y: NDArray[Any], names: Sequence[Any]) -> NDArray[np.intp]:
    """Return the position of each label's class; 0 for rows without a label."""
    found = np.full(len(y), -1, dtype=np.intp)
    for k, name in enumerate(names):
        found[np.asarray(y == name, dtype=bool)] = k
    found[missing_labels(y)] = 0
    strange = found < 0
    if strange.any():
        row = int(np.argmax(strange))
        raise DataError(
            "The validation row {row:,} has the label {label!r}; the classes are {names}.",
            code="unknown-class",
            row=row,
            label=y[row].item() if isinstance(y[row], np.generic) else y[row],
            names=list(names)[:10],
            classes=Argument("classes", ...),
            remedy=[
                "Leave such rows out.",
                "If the classes are others, name them in the order of the probabilities with "
                "{classes}.",
            ],
        )
    return found


def _refuse_few(parts: list[_Part], names: Sequence[Any]) -> None:
    for part, name in zip(parts, names, strict=True):
        if len(part.weight) < LEAST_EVENTS:
            raise DataError(
                "Only {count} validation {rows} of class {name!s}: what its probabilities look "
                "like cannot be told.",
                code="too-few-labels",
                count=len(part.weight),
                rows="row is" if len(part.weight) == 1 else "rows are",
                name=name,
                otherwise=Phrase(
                    "leave validation out and give trained_at=..., if the probabilities are "
                    "calibrated",
                    "give a base rate that is known from elsewhere, such as --now-at 0.015",
                ),
                remedy=[f"Give at least {LEAST_EVENTS} of every class.", "Or {otherwise}."],
            )


# --- the estimate ---------------------------------------------------------------------------------


def _moved(prob: Array, ratio: Array) -> Array:
    """Return probabilities recalibrated by now_at / trained_at."""
    weighted = prob * ratio
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))


def _mean_and_spread(
    part: _Part, h: Array, effective: float, one: Array | None = None
) -> tuple[Array, Array]:
    """Return the mean of h, and its covariance with a pseudo-row for what was not met.

    `one` is how a row varies, where that is known: it counts as one row more.
    """
    total = part.weight.sum()
    mean = part.weight @ h / total
    off = h - mean
    spread = (off * (part.weight / total)[:, None]).T @ off
    if one is None:
        spread /= max(effective - 1.0, 1.0)
    else:
        spread = (spread + one / effective) / effective
    return mean, spread + np.eye(h.shape[1]) * 0.25 / (effective + 1.0) ** 2


def _search(loss: Any, before: Array, first: Array) -> Array:
    """Return the base rates with the least loss, over shifts of the log-odds."""
    log_before = np.log(before)

    def at(shift: Array) -> Array:
        return np.asarray(softmax(log_before + np.append(0.0, shift)))

    def penalised(shift: Array) -> float:
        full = np.append(0.0, shift)
        off = full - full.mean()
        return float(loss(at(shift)) + 2.0 * (off @ off) / SHIFT**2)

    if len(before) == 2:
        grid = np.linspace(-FARTHEST, FARTHEST, 37)
        held = [penalised(np.array([one])) for one in grid]
        best = int(np.argmin(held))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        found = minimize_scalar(
            lambda one: penalised(np.array([one])), bounds=ends, method="bounded",
            options={"xatol": 1e-5},
        )  # fmt: skip
        return at(np.array([found.x]))
    bounds = [(-FARTHEST, FARTHEST)] * (len(before) - 1)
    tried = []
    for start in (before, first):  # the loss has hollows where a class is given up
        shift = np.log(start / before)
        begin = np.clip(shift[1:] - shift[0], -FARTHEST, FARTHEST)
        tried.append(minimize(penalised, begin, method="L-BFGS-B", bounds=bounds))
    return at(min(tried, key=lambda one: float(one.fun)).x)


def _in_cells(part: _Part) -> _Part:
    """Put rows of two classes with neighbouring probabilities together, where there are many."""
    if len(part.prob) <= 4 * CELLS or part.prob.shape[1] != 2:
        return part
    order = np.argsort(part.prob[:, 1], kind="stable")
    filled = np.cumsum(part.weight[order])
    cell = np.minimum((CELLS * filled / filled[-1]).astype(np.intp), CELLS - 1)
    weight = np.bincount(cell, part.weight[order], CELLS).astype(np.float64)
    held = weight > 0
    mean = np.bincount(cell, part.weight[order] * part.prob[order, 1], CELLS)[held] / weight[held]
    return _Part(
        np.column_stack([1.0 - mean, mean]), weight[held], part.sample, np.empty(0, dtype=np.intp)
    )


def _shares(merged: list[_Part], before: Array, sizes: Array) -> Array:
    """Return the base rates of today's rows, the first part, from those of the classes."""

    def loss(shares: Array) -> float:
        ratio = shares / before
        today = _moved(merged[0].prob, ratio)[:, 1:]
        moments = []
        for share, part, size in zip(shares, merged[1:], sizes[1:], strict=True):
            h = _moved(part.prob, ratio)[:, 1:]
            moments.append((share, *_mean_and_spread(part, h, size)))
        mixed = sum(share * mean for share, mean, _ in moments)
        # what one more row of the mixture would vary by: few rows of today's do not show it
        one = np.asarray(
            sum(
                share * (size * spread + np.outer(mean - mixed, mean - mixed))
                for (share, mean, spread), size in zip(moments, sizes[1:], strict=True)
            )
        )
        mean, spread = _mean_and_spread(merged[0], today, sizes[0], one)
        gap = mean - mixed
        spread = spread + sum(share**2 * of_one for share, _, of_one in moments)
        return float(gap @ np.linalg.solve(spread, gap))

    return _search(loss, before, _plain_count(merged))


def _adjusted(
    now: _Part,
    parts: list[_Part],
    before: Array,
    asked: Resampling,
    names: list[Any],
    named: bool,
) -> ShareEstimate:
    sizes = np.array([now.effective(), *(one.effective() for one in parts)])
    merged = [_in_cells(now), *map(_in_cells, parts)]
    shares = _shares(merged, before, sizes)
    ratio = shares / before
    h = _moved(now.prob, ratio), [_moved(one.prob, ratio) for one in parts]
    low, high, lost = _limits(now, parts, h, asked)
    tested = mixture(
        (now.prob, now.weight), [(one.prob, one.weight) for one in parts], sizes, asked.seed
    )
    p_value = tested.p_value
    counts = tuple(len(one.weight) for one in parts)
    sample = parts[0].sample
    few = _few(sample.few(names, counts), now)
    hidden = None
    if len(parts) == 2 and p_value > SIGNIFICANT and lost <= LOST:
        hidden = _hidden(tested, merged, before, sizes, (low[1], high[1]))
    means = [float(one.weight @ one.prob[:, -1] / one.weight.sum()) for one in parts]
    turned = len(parts) == 2 and means[1] < means[0]
    off = None if turned else _off(parts, before, names)
    remarks = _remarks(p_value, few, lost, hidden, names, turned, off)
    against = p_value <= SIGNIFICANT
    source = _Source(now.sample, sample, ADJUSTED, CONTRADICTED if against else LABEL_SHIFT)
    estimates = tuple(
        as_estimate(*ends, asked, source, few) for ends in zip(shares, low, high, strict=True)
    )
    return ShareEstimate(
        tuple(names), estimates, tuple(map(float, before)), p_value, len(now.weight), counts,
        named, remarks,
    )  # fmt: skip


def _plain_count(parts: list[_Part]) -> Array:
    """Return the adjusted count of the probabilities as they are, to begin from."""
    means = [one.weight @ one.prob / one.weight.sum() for one in parts]
    found = np.linalg.lstsq(np.stack(means[1:], axis=1), means[0], rcond=None)[0]
    found = np.maximum(found, 0.01 / len(found))
    return np.asarray(found / found.sum())


@dataclass(frozen=True)
class _Source:
    """How an estimate was found, and what it assumes."""

    now: Sample
    validation: Sample | None
    found_by: str
    under: str

    @property
    def method(self) -> str:
        """How the number and its interval were found."""
        return self.found_by

    @property
    def assumes(self) -> str:
        """What must hold."""
        grouped = [one for one in (self.now, self.validation) if one and one.group is not None]
        drawn = self.validation is not None and self.validation.drawn
        said = self.under + ("; rows of a group belong together" if grouped else "")
        return said + ("; labels were drawn with their stated probability" if drawn else "")


def _few(few: str, now: _Part) -> str:
    """Say that few rows stand behind a number, those of today's too."""
    worth = now.effective()
    if worth >= FEW:
        return few
    rows = len(now.weight)
    told = f"{in_rows(rows)} today"
    if worth < rows - 0.5:
        told += f", worth {short(worth)} independent ones of equal weight"
    return f"{few}, {told}" if few else f"; few: {told}"


def _hidden(
    tested: MixtureTest,
    merged: list[_Part],
    before: Array,
    sizes: Array,
    interval: tuple[float, float],
) -> tuple[float, float, float] | None:
    """Return the least and greatest base rate if scores have moved in a way that is often missed.

    Then how often it is missed, at most. None where the interval holds all of these. Moved are the
    scores of both classes, or of the last one alone, up or down.
    """
    scores = [logit(part.prob[:, 1]) for part in merged[1:]]
    middle = [
        float(np.quantile(z, 0.5, weights=part.weight, method="inverted_cdf"))
        for z, part in zip(scores, merged[1:], strict=True)
    ]
    with np.errstate(invalid="ignore"):
        way = MOVED * (middle[1] - middle[0])
    if not (np.isfinite(way) and way > 0):
        return None
    found, seen = [], []
    for by in (-way, way):
        for which in ((0, 1), (1,)):
            parts = list(merged[1:])
            for k in which:
                moved = np.column_stack([expit(-scores[k] - by), expit(scores[k] + by)])
                parts[k] = replace(parts[k], prob=moved)
            shares = _shares([merged[0], *parts], before, sizes)
            if interval[0] <= shares[1] <= interval[1]:
                continue
            power = tested.power([(one.prob, one.weight) for one in parts], shares)
            if power < SEEN:
                found.append(float(shares[1]))
                seen.append(power)
    return (min(found), max(found), 1.0 - min(seen)) if found else None


def _off(parts: list[_Part], before: Array, names: list[Any]) -> Problem | None:
    """Say that probabilities do not average to the shares of the validation rows.

    They are recalibrated to those first. Where they do not, they are for other base rates than
    `before`, or not calibrated: the estimate holds, since the validation rows show what each class
    scores, but what is recalibrated to it will be off.
    """
    totals = np.array([one.weight.sum() for one in parts])
    rates = totals / totals.sum()
    weight = np.concatenate([one.weight for one in parts])
    prob = _moved(np.concatenate([one.prob for one in parts]), rates / before)
    kind = np.repeat(np.arange(len(parts)), [len(one.weight) for one in parts])
    gap = (prob - np.eye(len(parts))[kind]) * weight[:, None]
    mean = weight @ prob / weight.sum()
    if parts[0].group is not None:
        unit = np.concatenate([one.group for one in parts if one.group is not None])
        gap = np.stack([np.bincount(unit, column) for column in gap.T], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(logit(mean) - logit(rates)) / np.log(OFF)
        errors = np.abs(gap.sum(axis=0)) / np.sqrt((gap**2).sum(axis=0)) / OFF_ERRORS
    worst = int(np.argmax(np.nan_to_num(np.minimum(apart, errors))))
    if not min(apart[worst], errors[worst]) > 1:
        return None
    worst = worst if len(parts) > 2 else 1
    same = bool(np.allclose(before, rates, rtol=1e-6))
    return Problem(
        "{share} of the validation rows are {name!s}, and their probabilities{moved} average "
        "{mean}: they are for other base rates than {before}, or not calibrated. The estimate "
        "holds all the same, but probabilities that are recalibrated to it from there stay off.",
        code="probabilities-off",
        share=short(rates[worst], percent=True),
        name=names[worst],
        moved="" if same else ", recalibrated to that,",
        mean=short(mean[worst], percent=True),
        before="those of these rows" if same else f"{short(before[worst], percent=True)}",
        trained_at=Argument("trained_at"),
        calibrate=Phrase("Calibrated", "scarce calibrate"),
        remedy="Give the base rate that they are for, that of training, with {trained_at}; if it "
        "is that already, calibrate them first ({calibrate}).",
    )


def _remarks(
    p_value: float,
    few: str,
    lost: float,
    hidden: tuple[float, float, float] | None,
    names: Sequence[Any],
    turned: bool,
    off: Problem | None,
) -> tuple[str, ...]:
    found = []
    if p_value <= SIGNIFICANT:
        found.append(
            Problem(
                "Today's scores are not a mixture of those of the validation classes (p = {p}): "
                "not only the base rate has changed, and this estimate and its interval hold for "
                "label shift alone.",
                code="not-label-shift",
                p=short(p_value),
                remedy="Label some of today's rows, drawn at random, and fit or validate anew.",
            )
        )
    if hidden is not None:
        least, most = (short(one) for one in hidden[:2])
        found.append(
            Problem(
                "The interval holds for label shift alone. If today's scores, or those of {name!s} "
                "alone, had moved by a quarter of the distance between the classes, the base rate "
                "would be {rates}, and the test would often miss it: in {missed} of simulated "
                "samples.",
                code="weak-test",
                name=names[-1],
                missed=short(round(hidden[2], 2), percent=True),
                rates=least if least == most else f"from {least} to {most}",
                remedy="If they may have moved, label some of today's rows, drawn at random.",
            )
        )
    untested = bool(np.isnan(p_value)) and not few and lost <= LOST
    if off is not None and not untested:
        found.append(off)
    if lost > 0.5 and turned:
        found.append(
            Problem(
                "The probabilities of {name!s} are lower in validation rows of {name!s} than in "
                "the others: they rank the classes the wrong way round.",
                code="no-ranking",
                name=names[-1],
                remedy="Check which class the probabilities are of.",
            )
        )
    elif lost > LOST:
        found.append(
            Problem(
                "The probabilities hardly tell the classes apart in the validation rows, so that "
                "today's scores say little about the base rate.",
                code="classes-not-told-apart",
            )
        )
    elif untested:
        found.append(
            Problem(
                "Nothing tests label shift, for which alone the interval holds: the probabilities "
                "have too few different values.",
                code="not-tested",
                remedy="Give probabilities, not predicted classes.",
            )
        )
    return (*found, *few_remarks(few))


# --- its interval ---------------------------------------------------------------------------------


def _units(columns: Array, weight: Array, unit: NDArray[np.intp], seed: int) -> csr_array:
    """Return what each unit that is resampled holds of each column: sparse, (columns, units).

    More than MOST_UNITS are dealt out at random into so many, whose sums vary as much.
    """
    total = np.column_stack([columns * weight[:, None], weight])
    n_units = int(unit.max()) + 1
    sums = np.stack([np.bincount(unit, column, n_units) for column in total.T])
    sums = sums[:, np.lexsort(sums)]  # so that the order of rows does not matter
    if n_units > MOST_UNITS:
        deal = np.random.default_rng([seed, 3]).permutation(n_units) % MOST_UNITS
        sums = np.stack([np.bincount(deal, row, MOST_UNITS) for row in sums])
    return csr_array(sums)


def _limits(
    now: _Part, parts: list[_Part], h: tuple[Array, list[Array]], asked: Resampling
) -> tuple[Array, Array, float]:
    """Return low and high limits, and in which part of the resamples classes are not told apart."""
    n = len(parts)
    unit = np.arange(len(now.weight)) if now.group is None else now.group
    today = draw_groups(_units(h[0], now.weight, unit, asked.seed), asked)
    drawn = asked._replace(seed=asked.seed + SECOND)
    grouped = parts[0].group is not None
    held = []
    if grouped:  # one draw for all classes: a group may hold rows of several
        sample = parts[0].sample
        columns = np.zeros((len(sample.weight), n * (n + 1)))
        for k, (part, values) in enumerate(zip(parts, h[1], strict=True)):
            block = slice(k * (n + 1), (k + 1) * (n + 1))
            columns[part.place, block] = np.column_stack([values, np.ones(len(values))])
        assert sample.group is not None
        table = _units(columns, sample.weight, sample.group, drawn.seed)
        sums = draw_groups(table, drawn)[:, :-1]
        held = [sums[:, k * (n + 1) : (k + 1) * (n + 1)] for k in range(n)]
    else:
        for k, (part, values) in enumerate(zip(parts, h[1], strict=True)):
            own = drawn._replace(seed=drawn.seed + k * SECOND)
            table = _units(values, part.weight, np.arange(len(values)), own.seed)
            held.append(draw_groups(table, own))
    means = np.stack(
        [one.weight @ v / one.weight.sum() for one, v in zip(parts, h[1], strict=True)]
    )
    found, lost = [], []
    for replicates, unknown in _replicates(now, parts, today, held, means, asked):
        found.append(replicates)
        lost.append(unknown)
    unseen = [np.where(one[:, None], 0.0, each) for each, one in zip(found, lost, strict=True)]
    low, _ = outer_limits(unseen, asked)
    seen = [np.where(one[:, None], 1.0, each) for each, one in zip(found, lost, strict=True)]
    _, high = outer_limits(seen, asked)
    return low, high, float(lost[0].mean())


def _replicates(
    now: _Part,
    parts: list[_Part],
    today: Array,
    held: list[Array],
    means: Array,
    asked: Resampling,
) -> Any:
    """Base rates of every resample, for each unseen row: today or of a class, looking like one."""
    n = len(parts)
    yield _solved(today, held)
    extra = unseen_weights(asked)[:, None]
    sample = parts[0].sample
    here = typical_weight(now.weight) * now.sample.together()
    for like in range(n):
        row = np.append(means[like], 1.0)
        yield _solved(today + here * extra * row, held)
        for k in range(n):
            if k != like:
                mask = np.zeros(len(sample.weight), dtype=bool)
                mask[parts[k].place] = True
                weight = typical_weight(parts[k].weight) * sample.together(mask)
                changed = list(held)
                changed[k] = held[k] + weight * extra * row
                yield _solved(today, changed)


def _solved(today: Array, held: list[Array]) -> tuple[Array, NDArray[np.bool_]]:
    """Return the base rates of every resample, and where classes are not told apart."""
    with np.errstate(divide="ignore", invalid="ignore"):
        right = today[:, :-1] / today[:, -1:]
        left = np.stack([one[:, :-1] / one[:, -1:] for one in held], axis=2)
    bad = ~np.isfinite(left).all(axis=(1, 2)) | ~np.isfinite(right).all(axis=1)
    left[bad], right[bad] = np.eye(len(held)), 1.0 / len(held)
    bad |= np.linalg.det(left) <= 1e-12
    left[bad] = np.eye(len(held))
    shares = np.clip(np.linalg.solve(left, right[:, :, None])[:, :, 0], 0.0, 1.0)
    return shares / shares.sum(axis=1, keepdims=True), bad


# --- without validation rows ----------------------------------------------------------------------


def _fixed_point(part: _Part, before: Array) -> Array:
    """Return EM's base rates: those that the recalibrated probabilities average to."""
    ratio = part.prob / before
    weight = part.weight / part.weight.sum()
    shares = before.copy()
    for _ in range(2000):
        joint = ratio * shares
        moved = (weight / joint.sum(axis=1)) @ joint
        done = np.abs(moved - shares).max() < 1e-9
        shares = moved
        if done:
            break
    return np.asarray(shares)


def _by_em(
    now: _Part, before: Array, asked: Resampling, names: list[Any], named: bool
) -> ShareEstimate:
    merged = _in_cells(now)
    ratio = merged.prob / before
    weight = merged.weight * (now.effective() / merged.weight.sum())

    def loss(shares: Array) -> float:
        with np.errstate(divide="ignore"):
            return float(-2.0 * (weight @ np.log(ratio @ shares)))

    shares = _search(loss, before, np.maximum(_fixed_point(merged, before), 1e-4))
    low, high = _em_limits(now, before, asked)
    few = _few("", now)
    source = _Source(now.sample, None, EM, CALIBRATED)
    estimates = tuple(
        as_estimate(*ends, asked, source, few) for ends in zip(shares, low, high, strict=True)
    )
    told = Problem(
        "Without validation rows the estimate holds for calibrated probabilities only, and nothing "
        "can be tested.",
        code="no-validation",
        validation=Phrase("validation=(y, prob)"),
        remedy="Give {validation}.",
    )
    return ShareEstimate(
        tuple(names), estimates, tuple(map(float, before)), float("nan"), len(now.weight), (),
        named, (told, *few_remarks(few)),
    )  # fmt: skip


def _em_limits(now: _Part, before: Array, asked: Resampling) -> tuple[Array, Array]:
    """Return limits from one Newton step of EM's likelihood in every resample."""
    n = len(before)
    merged = _in_cells(now)
    ratio = merged.prob / before
    shares = _fixed_point(merged, before)
    every = now.prob / before
    score = (every[:, 1:] - every[:, :1]) / (every @ shares)[:, None]
    square = (score[:, :, None] * score[:, None, :]).reshape(len(score), -1)
    unit = np.arange(len(score)) if now.group is None else now.group
    table = _units(np.hstack([score, square]), now.weight, unit, asked.seed)
    sums = draw_groups(table, asked)[:, :-1]
    extra = unseen_weights(asked)[:, None] * typical_weight(now.weight) * now.sample.together()
    found = []
    posterior = ratio * shares
    posterior *= (merged.weight / posterior.sum(axis=1))[:, None]
    here = (merged.prob[:, 1:] / before[1:] - merged.prob[:, :1] / before[0]) / (ratio @ shares)[
        :, None
    ]
    for k in range(n):  # an unseen row like those of a class
        total = posterior[:, k].sum()
        row = np.zeros(sums.shape[1])
        if total > 0:
            like = posterior[:, k] @ here / total
            row = np.append(like, np.outer(like, like).ravel())
        each = sums + extra * row
        information = each[:, n - 1 :].reshape(-1, n - 1, n - 1) + 1e-9 * np.eye(n - 1)
        step = np.linalg.solve(information, each[:, : n - 1, None])[:, :, 0]
        last = np.clip(_inside(shares[1:] + step, information), 0.0, 1.0)
        found.append(np.column_stack([np.clip(1.0 - last.sum(axis=1), 0.0, 1.0), last]))
    low, high = outer_limits(found, asked)
    if n > 2:
        if len(merged.weight) > CELLS:  # where the law is normal but for the ends
            return low, high
        least, most = _profile_limits(merged, now.effective(), ratio, shares, asked)
        return np.minimum(low, least), np.maximum(high, most)
    least, most = _likelihood_limits(merged, now.effective(), ratio, shares, asked)
    return np.minimum(low, least), np.maximum(high, most)


def _inside(last: Array, information: Array) -> Array:
    """Return the likeliest base rates of which none is negative, under a normal approximation.

    `last` are those of all classes but the first, one line for each resample. A negative one is set
    to 0 and the others follow as their covariance says, the most negative one first.
    """
    n = last.shape[1] + 1
    by = np.vstack([-np.ones(n - 1), np.eye(n - 1)])  # from the last ones to all
    spread = np.linalg.inv(information)
    found = last.copy()
    for _ in range(n - 1):
        shares = found @ by.T
        shares[:, 0] += 1.0
        worst = shares.argmin(axis=1)
        short_of = np.minimum(shares[np.arange(len(found)), worst], 0.0)
        along = np.einsum("rij,rj->ri", spread, by[worst])
        held = np.maximum(np.einsum("ri,ri->r", along, by[worst]), 1e-300)
        found -= along * (short_of / held)[:, None]
        free = np.where(short_of < 0, 1.0 / held, 0.0)
        spread = spread - free[:, None, None] * along[:, :, None] * along[:, None, :]
    return found


def _likelihood_limits(
    part: _Part, effective: float, ratio: Array, shares: Array, asked: Resampling
) -> tuple[Array, Array]:
    """Return where the likelihood ratio of two classes ends: few events today make it skew."""
    weight = part.weight * (effective / part.weight.sum())
    grid = expit(np.linspace(-12.0, 12.0, 961))
    with np.errstate(divide="ignore"):
        best = float(weight @ np.log(ratio @ shares))
        loss = np.array([weight @ np.log(ratio @ np.array([1.0 - one, one])) for one in grid])
    inside = grid[2.0 * (best - loss) <= float(ndtri(asked.tails[1])) ** 2]
    if not len(inside):
        return shares, shares
    least, most = float(inside.min()), float(inside.max())
    return np.array([1.0 - most, least]), np.array([1.0 - least, most])


def _profile_limits(
    part: _Part, effective: float, ratio: Array, shares: Array, asked: Resampling
) -> tuple[Array, Array]:
    """Return where the likelihood ratio of each of several classes ends, the others being free."""
    weight = part.weight * (effective / part.weight.sum())
    reach = float(ndtri(asked.tails[1])) ** 2 / 2.0

    def loss(k: int, share: float) -> float:
        found = np.maximum(shares, 1e-6)
        found[k] = 0.0
        found *= (1.0 - share) / found.sum()
        found[k] = share
        for _ in range(PROFILED):
            filled = found * (ratio.T @ (weight / np.maximum(ratio @ found, 1e-300)))
            filled[k] = 0.0
            found = (1.0 - share) * filled / max(float(filled.sum()), 1e-300)
            found[k] = share
        return -float(weight @ np.log(np.maximum(ratio @ found, 1e-300)))

    best = -float(weight @ np.log(np.maximum(ratio @ shares, 1e-300)))
    ends = np.empty((2, len(shares)))
    for k, share in enumerate(shares.tolist()):
        for side, end in enumerate((1e-9, 1.0 - 1e-9)):
            inside, outside = share, end
            if loss(k, end) - best <= reach:
                inside = float(side)
            else:
                for _ in range(HALVINGS):
                    middle = (inside + outside) / 2.0
                    within = loss(k, middle) - best <= reach
                    inside, outside = (middle, outside) if within else (inside, middle)
            ends[side, k] = inside
    return ends[0], ends[1]
