"""If the least sure rows go to a person, how good are the decisions on the rest?

    risk(c) = mean loss of the share c of rows that are surest         (El-Yaniv and Wiener 2010)
    area    = mean over k of risk(k / n)                               (AURC: Geifman et al. 2019)
    excess  = area - area of the best order there is, by loss itself   (E-AURC)

Rows of equal confidence enter in random order, and risk is its expectation over these orders: k of
m of them bring k / m of their loss, and sums over k are differences of digamma. Assumes what
resample.py says, and that a person's work is the same for every row. Sends nobody a row: the
cheapest action with an abstain cost does (decide.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from scarce.engine.block import Array
from scarce.errors import UsageError
from scarce.evaluation.cuts import points, read_flag
from scarce.evaluation.loss_rows import LossRows, read_losses
from scarce.evaluation.realised import mean_of
from scarce.evaluation.resample import Asked, draw_groups, estimate, gather, outer, typical, unseen
from scarce.evaluation.wording import few_remarks, figure, with_remarks
from scarce.results import Estimate, Record

STEPS = 512  # places in the order of confidence, in resamples of many rows


class Queue(NamedTuple):
    """Rows from the surest down, in groups of equal confidence; the first two cells are unseen.

    `group`: place of each cell in the order; `loss`: its loss per unit of weight; `added`: weight
    of an unseen row, a good and a bad one; `parts`: what groups hold, where rows come in groups.
    """

    group: NDArray[np.intp]
    weight: Array
    shape: Array
    loss: Array
    added: tuple[float, float]
    parts: Any = None

    def drawn(self, asked: Asked) -> Iterator[Array]:
        """Yield weights of cells, (resamples, cells): with a good unseen row first, then a bad."""
        shape = self.shape[2:]
        held = np.zeros((asked.resamples, len(self.weight)))
        if self.parts is not None:
            held[:, 2:] = draw_groups(self.parts, asked)
        else:
            held[:, 2:] = np.random.default_rng([asked.seed, 0]).standard_gamma(
                shape, (asked.resamples, len(shape))
            )
            held[:, 2:] *= self.weight[2:] / shape
        extra = unseen(asked)
        for cell in (0, 1):
            held[:, cell] = extra * self.added[cell]
            yield held
            held[:, cell] = 0.0

    def places(self, asked: Asked) -> NDArray[np.intp]:
        """Return a place in the order for the unseen row of each resample, all rows alike."""
        at = np.cumsum(np.bincount(self.group[2:], self.weight[2:]))
        drawn = np.random.default_rng([asked.seed, 2]).random(asked.resamples)
        return np.asarray(np.searchsorted(at, drawn * at[-1]), dtype=np.intp)

    def sums(
        self, held: Array, *, best: bool = False, place: NDArray[np.intp] | None = None
    ) -> tuple[Array, Array]:
        """Return weight and loss accumulated down the order, or down the best one: from 0 on.

        The unseen row comes first, or at its place.
        """
        order = np.argsort(self.loss, kind="stable") if best else np.arange(len(self.loss))
        key = self.loss[order] if best else self.group
        start = np.flatnonzero(np.append(True, np.diff(key) != 0))
        out = []
        for part in (held[:, order], (held * self.loss)[:, order]):
            total = np.zeros((len(held), len(start) + 1))
            total[:, 1:] = np.add.reduceat(part, start, axis=1)
            if place is not None:
                total[np.arange(len(held)), place + 3] += total[:, 1:3].sum(axis=1)
                total[:, 1:3] = 0.0
            out.append(np.cumsum(total, axis=1, out=total))
        return out[0], out[1]


def ordered_area(weight: Array, loss: Array) -> Array:
    """Return the mean risk over all numbers of rows kept, expected over orders of equal rows.

    Parameters
    ----------
    weight, loss : ndarray of shape (resamples, groups + 1)
        Accumulated from the surest group down, 0 first.

    Notes
    -----
    Within a group of m rows and mean loss g, after a rows that lost s together, the sum over
    k = 1 to m of (s + k g) / (a + k) is m g + (s - a g) (digamma(a + m + 1) - digamma(a + 1)).
    A weight that is no whole number goes through the same formula.

    Examples
    --------
    >>> ordered_area(np.array([[0.0, 1, 2, 3]]), np.array([[0.0, 0, 0, 1]]))       # 0, 0, 1/3
    array([0.11111111])
    """
    size, lost = np.diff(weight, axis=1), np.diff(loss, axis=1)
    before = weight[:, :-1]
    rate = np.divide(lost, size, out=np.zeros_like(lost), where=size > 0)
    steps = digamma(weight + 1)
    sums = lost + (loss[:, :-1] - before * rate) * np.diff(steps, axis=1)
    return np.asarray(sums.sum(axis=1) / weight[:, -1])


@dataclass(frozen=True, eq=False)
class RiskCoverage(Record):
    """Risk of the decisions that are kept, against the share that is kept.

    Parameters
    ----------
    coverage : ndarray of shape (n,)
        Share of rows decided on, the surest first.
    risk, low, high : ndarray of shape (n,)
        Mean loss of these rows, with its band.
    best : ndarray of shape (n,)
        Risk in the best order there is: rows that lose nothing first.
    confidence : ndarray of shape (n,)
        Confidence of the last row that is kept.
    area : Estimate
        Mean risk over all coverages (AURC): what a random coverage costs.
    excess : Estimate
        How far it lies above the best order there is (E-AURC).
    full : Estimate
        Risk when every row is decided on.
    level, simultaneous
        Of the band: each point alone, or the whole curve.
    remarks : tuple of str

    Examples
    --------
    >>> y, p = [0, 0, 0, 0, 1, 1, 1, 0], [0.01, 0.02, 0.1, 0.2, 0.4, 0.8, 0.9, 0.95]
    >>> curve = risk_coverage(y, p, at=[0.25, 0.5, 1.0])
    >>> curve.risk
    array([0.  , 0.25, 0.25])
    """

    coverage: Array
    risk: Array
    low: Array
    high: Array
    best: Array
    confidence: Array
    area: Estimate
    excess: Estimate
    full: Estimate
    level: float
    simultaneous: bool
    remarks: tuple[str, ...] = ()
    _queue: Any = field(default=None, repr=False)
    _asked: Any = field(default=None, repr=False)

    def risk_at(self, coverage: float) -> Estimate:
        """Return the risk when this share of the rows is decided on."""
        at = _share(coverage, "coverage")
        if at == 1:
            return self.full
        value, sets = self._replay(lambda w, s: _risk(w, s, np.array([at])))
        low, high = outer(sets, self._asked)
        return estimate(value[0], low[0], high[0], self._asked, self.full)

    def coverage_at(self, risk: float) -> Estimate:
        """Return the greatest share of rows that can be decided on with at most this risk.

        0 where even the surest row is too risky. The share is read off the same rows that the risk
        is measured on; take the low limit where a promise hangs on it.
        """
        try:
            most = float(risk)
        except (TypeError, ValueError):
            most = float("nan")
        if not np.isfinite(most):
            raise UsageError(f"risk={risk!r} is no risk: give a number, such as 0.01.")
        value, sets = self._replay(lambda w, s: _reach(w, s, most))
        low, high = outer(sets, self._asked)
        return estimate(value[0], low, high, self._asked, self.full)

    def _replay(self, figure: Any) -> tuple[Any, Iterator[Array]]:
        """Return a figure and its resamples: the same draws as those of the band."""
        queue = self._queue
        value = figure(*queue.sums(queue.weight[None]))
        return np.atleast_1d(np.squeeze(value)), (
            figure(*queue.sums(held)) for held in queue.drawn(self._asked)
        )

    def __str__(self) -> str:
        lines = [f"risk of the surest rows ({100 * self.level:g} %)"]
        for share in (0.5, 0.8, 0.9, 0.95, 1.0):
            one = self.risk_at(share) if share < 1 else self.full
            lines.append(f"  {100 * share:>3g} % kept  {figure(one)}")
        lines.append(f"mean over coverages {figure(self.area)}")
        lines.append(f"above the best order by {figure(self.excess)}")
        return with_remarks(lines, self.remarks)


def risk_coverage(
    y_true: Any,
    prob: ArrayLike | None = None,
    *,
    confidence: Any = None,
    loss: Any = "zero-one",
    costs: Any = None,
    at: ArrayLike | None = None,
    simultaneous: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: Any = None,
    groups: Any = None,
    level: float = 0.9,
    resamples: int = 1000,
    random_state: Any = 0,
) -> RiskCoverage:
    """Return the risk of decisions against the share of rows that is not sent to a person.

    Parameters
    ----------
    y_true : array-like of shape (n,), or None where `loss` is an array
        Classes, numbered from 0 or as `costs.classes` names them; missing where not labelled. For
        errors in classes with names, pass `costs=CostMatrix.zero_one(names)`.
    prob : array-like of shape (n,) or (n, n_classes), optional
        Probability of the last of two classes, or of each.
    confidence : array-like of shape (n,), "cost" or "margin", optional
        What rows are ordered by, the greatest first. By default the expected loss under `prob`,
        the least first ("cost"): no other order has less risk if the probabilities are right.
        "margin": how much dearer the second best action would be expected to be.
    loss : "zero-one", "brier", "log", or array-like of shape (n,)
        What a decision loses; an array holds losses that are known (NaN where not labelled) and
        needs `confidence` as an array.
    costs : CostMatrix or array-like, optional
        Instead of `loss`: the cost of the cheapest action under `prob`, for each row.
    at : array-like, optional
        Coverages, above 0 and up to 1; by default 0.01 to 1.
    simultaneous, sample_weight, inclusion, groups, level, resamples, random_state
        As in `cost_curve` and `mean_cost`.

    Returns
    -------
    RiskCoverage

    **Assumes** independent rows, or groups. Time grows with rows times log rows, and with resamples
    times at most 4,096 cells.

    Examples
    --------
    >>> y, p = [0, 0, 0, 0, 1, 1, 1, 0], [0.01, 0.02, 0.1, 0.2, 0.4, 0.8, 0.9, 0.95]
    >>> curve = risk_coverage(y, p, at=[0.25, 0.5, 1.0])
    >>> curve.risk
    array([0.  , 0.25, 0.25])
    >>> round(curve.coverage_at(0.1).value, 3)
    0.278
    """
    asked = Asked.read(level, resamples, random_state)
    joint = read_flag(simultaneous, "simultaneous")
    rows = read_losses(y_true, prob, confidence, loss, costs, (sample_weight, inclusion, groups))
    whole = _queue(rows, len(rows.loss))
    queue = whole if len(rows.loss) <= STEPS else _queue(rows, STEPS)
    share = np.arange(1, 101) / 100 if at is None else points(at, np.empty(0), closed=True)
    if share[0] <= 0:
        raise UsageError("at= begins with coverage 0, where no row is left to have a risk.")
    weight, lost = whole.sums(whole.weight[None])
    risk = _risk(weight, lost, share)[0]
    low, high = outer(
        (_risk(*queue.sums(held), share) for held in queue.drawn(asked)), asked, joint
    )
    figures = _areas(whole, whole.weight[None])[0]
    shift = figures - _areas(queue, queue.weight[None])[0]
    place = queue.places(asked)
    ends = outer((_areas(queue, held, place) + shift for held in queue.drawn(asked)), asked)
    few = rows.few
    area, excess, full = (
        estimate(value, max(a, least), b, asked, rows.sample, few)
        for value, a, b, least in zip(figures, *ends, (-np.inf, 0.0, -np.inf), strict=True)
    )
    if rows.outcomes is not None:  # the same figure, and the same limits, as mean_cost
        full = mean_of(rows.outcomes, asked, 1.0)
    if not joint:
        low[share == 1], high[share == 1] = full.low, full.high
    kept = np.searchsorted(weight[0, 1:], share * weight[0, -1] * (1 - 1e-12))
    surest = np.unique(rows.confidence)[::-1]
    return RiskCoverage(
        coverage=share,
        risk=risk,
        low=np.minimum(low, risk),
        high=np.maximum(high, risk),
        best=_risk(*whole.sums(whole.weight[None], best=True), share)[0],
        confidence=surest[np.clip(kept - 2, 0, len(surest) - 1)],
        area=area,
        excess=excess,
        full=full,
        level=asked.level,
        simultaneous=joint,
        remarks=few_remarks(few),
        _queue=queue,
        _asked=asked,
    )


def _queue(rows: LossRows, steps: int) -> Queue:
    """Put rows in order, equal confidence together; beyond `steps` places also neighbours."""
    _, place = np.unique(-rows.confidence, return_inverse=True)
    if place.max() + 1 > steps:
        ahead = np.cumsum(np.bincount(place)) - 1
        place = (ahead * steps // len(place))[place]
        _, place = np.unique(place, return_inverse=True)
    sample, loss = rows.sample, rows.loss
    most = max(4096, 2 * steps)
    cells = gather(place, sample.weight, loss[:, None], sample.group, most=most)
    ones = np.ones((len(loss), 1))
    added = float(typical(sample.weight, ones[:, 0], ones)[0])
    bad = loss > sample.weight @ loss / sample.weight.sum()
    return Queue(
        np.concatenate([[-2, -1], cells.key]),
        np.concatenate([[0.0, 0.0], cells.weight]),
        np.concatenate([[0.0, 0.0], cells.shape]),
        np.concatenate([[rows.least, rows.most], cells.values[:, 0]]),
        (added * sample.together(~bad), added * sample.together(bad)),
        cells.parts,
    )


def _areas(queue: Queue, held: Array, place: NDArray[np.intp] | None = None) -> Array:
    """Area, excess over the best order, and risk of all rows: (resamples, 3).

    An unseen row stands at a random place: put first, it would enter the risk of every coverage.
    """
    weight, lost = queue.sums(held, place=place)
    area = ordered_area(weight, lost)
    least = ordered_area(*queue.sums(held, best=True))
    return np.stack([area, area - least, lost[:, -1] / weight[:, -1]], axis=1)


def _risk(weight: Array, lost: Array, share: Array) -> Array:
    """Risk at each coverage: (resamples, n)."""
    out = np.empty((len(weight), len(share)))
    for b in range(len(weight)):
        kept = share * weight[b, -1]
        out[b] = np.interp(kept, weight[b], lost[b]) / kept
    return out


def _reach(weight: Array, lost: Array, most: float) -> Array:
    """Greatest coverage with at most this risk: (resamples,).

    Within a group risk moves one way, so that the last group whose end is good enough is followed
    by at most one part of a group.
    """
    slack = most * weight - lost  # at least 0 where the risk so far is small enough
    good = slack >= -1e-12 * np.maximum(np.abs(lost), 1e-300)
    good[:, 0] = True
    last = good.shape[1] - 1 - np.argmax(good[:, ::-1], axis=1)
    at = np.arange(len(weight))
    nxt = np.minimum(last + 1, weight.shape[1] - 1)
    fall = slack[at, last] - slack[at, nxt]
    part = np.divide(slack[at, last], fall, out=np.zeros(len(at)), where=fall > 0)
    reach = weight[at, last] + np.clip(part, 0, 1) * (weight[at, nxt] - weight[at, last])
    return np.asarray(reach / weight[:, -1])


def _share(value: Any, name: str) -> float:
    if isinstance(value, (int, float, np.number)) and 0 < value <= 1:
        return float(value)
    raise UsageError(f"{name}={value!r} is no share of rows: give a number above 0 and up to 1.")
