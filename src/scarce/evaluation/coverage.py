"""If the least sure rows go to a person, how good are the decisions on the rest?

    risk(c) = mean loss of the share c of rows that are surest         (El-Yaniv and Wiener 2010)
    area    = mean over k of risk(k / n)                               (AURC: Geifman et al. 2019)
    excess  = area - area of the best order there is, by loss itself   (E-AURC)

    confidence = - min over actions of expected cost       ("cost"; for 0-1 loss, the greatest prob)
               = expected cost of the second cheapest action - of the cheapest         ("margin")

Keeping the rows with the least expected loss has the least risk of all rules that keep as many, if
the probabilities are right. Rows of equal confidence enter in random order, and risk is its
expectation over these orders: k of m of them bring k / m of their loss, and sums over k are
differences of digamma. With weights n is their sum in units of the weight behind a random member of
the population, sum w^2 / sum w: a number of rows, whatever the scale of the weights. Assumes what
bootstrap.py says, that decisions are the cheapest ones under the probabilities, and that a person's
work is the same for every row. Sends nobody a row: the cheapest action with an abstain cost does
(decisions/decide.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import digamma

from scarce.bootstrap import (
    Inclusion,
    Resampling,
    Sample,
    Seed,
    Weights,
    as_estimate,
    draw_groups,
    few_remarks,
    gather,
    outer_limits,
    read_kind,
    read_sample,
    typical_row,
    typical_weight,
    unseen_weights,
)
from scarce.checks import is_number, read_column, read_scores, refuse_other_index
from scarce.decisions.costs import CostMatrix, CostsLike, as_costs
from scarce.decisions.decide import (
    cheapest,
    class_probabilities,
    encode_labels,
    expected_cost,
    prob_table,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Phrase, UsageError, refuse_word
from scarce.evaluation.cost import Outcomes, mean_of, read_outcomes, same_length
from scarce.evaluation.curves import points, read_flag
from scarce.evaluation.scores import BRIER, LOG, Forecasts, LossFigures
from scarce.results import Estimate, Record
from scarce.scoring import row_losses

STEPS = 512  # places in the order of confidence, in resamples of many rows
LOSSES = ("zero-one", "brier", "log")
ORDERS = ("cost", "margin")
SLACK = 8 * np.finfo(np.float64).eps  # rounding of an expected cost, in units of the costs

Sampling = tuple[Weights, Inclusion, ArrayLike | None]  # weight, inclusion, groups
Replicate = Callable[[Array, Array], Array]  # of weights and losses down the order


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
        Mean risk over all coverages 1/n to 1 (AURC): what a random coverage costs. With weights n
        is the effective number of rows, (sum w)^2 / sum w^2.
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
    _queue: Queue | None = field(default=None, repr=False)
    _asked: Resampling | None = field(default=None, repr=False)

    def risk_at(self, coverage: float) -> Estimate:
        """Return the risk when this share of the rows is decided on."""
        at = _share(coverage, "coverage")
        if at == 1:
            return self.full
        return self._replay(lambda weight, lost: _risk(weight, lost, np.array([at]))[:, 0])

    def coverage_at(self, risk: float) -> Estimate:
        """Return the greatest share of rows that can be decided on with at most this risk.

        0 where even the surest row is too risky. The share is read off the same rows that the risk
        is measured on; take the low limit where a promise hangs on it.
        """
        if not is_number(risk) or not np.isfinite(risk):
            raise UsageError(
                "{argument} must be a number, such as 0.01, got {value!r}.",
                code="not-a-number",
                argument=Argument("risk"),
                value=risk,
            )
        most = float(risk)
        return self._replay(lambda weight, lost: _reach(weight, lost, most))

    def _replay(self, figure: Replicate) -> Estimate:
        """Return a figure with its interval, from the same draws as those of the band."""
        queue, asked = self._queue, self._asked
        assert queue is not None
        assert asked is not None
        value = figure(*queue.sums(queue.weight[None]))[0]
        drawn = (figure(*queue.sums(held)) for held in queue.drawn(asked))
        return as_estimate(value, *outer_limits(drawn, asked), asked, self.full)

    def __str__(self) -> str:
        lines = [f"risk of the surest rows ({100 * self.level:g} %)"]
        for share in (0.5, 0.8, 0.9, 0.95, 1.0):
            one = self.risk_at(share) if share < 1 else self.full
            lines.append(f"  {100 * share:>3g} % kept  {one.brief()}")
        lines.append(f"mean over coverages {self.area.brief()}")
        lines.append(f"above the best order by {self.excess.brief()}")
        return "\n".join([*lines, *(f"remark: {text}" for text in self.remarks)])


def risk_coverage(
    y_true: ArrayLike | None,
    prob: ArrayLike | None = None,
    *,
    confidence: ArrayLike | str | None = None,
    loss: ArrayLike | str = "zero-one",
    costs: CostsLike | None = None,
    at: ArrayLike | None = None,
    simultaneous: bool = False,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
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
    simultaneous, sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
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
    refuse_other_index(
        y_true=y_true,
        prob=prob,
        confidence=confidence,
        loss=loss,
        sample_weight=sample_weight,
        inclusion=inclusion,
        groups=groups,
    )
    asked = Resampling.read(level, resamples, random_state)
    joint = read_flag(simultaneous, "simultaneous")
    rows = read_losses(
        y_true,
        prob,
        confidence,
        loss,
        costs,
        (read_kind(sample_weight, weight_kind), inclusion, groups),
    )
    whole = _queue(rows, len(rows.loss))
    queue = whole if len(rows.loss) <= STEPS else _queue(rows, STEPS)
    share = _read_coverages(at)
    weight, lost = whole.sums(whole.weight[None])
    risk = _risk(weight, lost, share)[0]
    low, high = outer_limits(
        (_risk(*queue.sums(held), share) for held in queue.drawn(asked)), asked, joint
    )
    area, excess, full = _area_figures(rows, whole, queue, asked)
    if not joint and not np.isnan(full.low):
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
        remarks=few_remarks(rows.few),
        _queue=queue,
        _asked=asked,
    )


# --- the order of confidence ----------------------------------------------------------------------


class Queue(NamedTuple):
    """Rows from the surest down, in groups of equal confidence; the first two cells are unseen.

    `group`: place of each cell in the order; `loss`: its loss per unit of weight; `added`: weight
    of an unseen row, a good and a bad one; `unit`: weight that counts as one row of n; `parts`:
    what groups hold, where rows come in groups.
    """

    group: NDArray[np.intp]
    weight: Array
    shape: Array
    loss: Array
    added: tuple[float, float]
    unit: float
    parts: csr_array | None = None

    def drawn(self, asked: Resampling) -> Iterator[Array]:
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
        extra = unseen_weights(asked)
        for cell in (0, 1):
            held[:, cell] = extra * self.added[cell]
            yield held
            held[:, cell] = 0.0

    def places(self, asked: Resampling) -> NDArray[np.intp]:
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
        Accumulated from the surest group down, 0 first; in rows.

    Notes
    -----
    Within a group of m rows and mean loss g, after a rows that lost s together, the sum over
    k = 1 to m of (s + k g) / (a + k) is m g + (s - a g) (digamma(a + m + 1) - digamma(a + 1)).
    A number that is not whole goes through the same formula.

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
    added = typical_weight(sample.weight)
    bad = loss > sample.weight @ loss / sample.weight.sum()
    return Queue(
        np.concatenate([[-2, -1], cells.key]),
        np.concatenate([[0.0, 0.0], cells.weight]),
        np.concatenate([[0.0, 0.0], cells.shape]),
        np.concatenate([[rows.least, rows.most], cells.values[:, 0]]),
        (added * sample.together(~bad), added * sample.together(bad)),
        added,
        cells.parts,
    )


def _area_figures(
    rows: LossRows, whole: Queue, queue: Queue, asked: Resampling
) -> tuple[Estimate, Estimate, Estimate]:
    """Area, excess over the best order, and risk of all rows, with intervals."""
    figures = _areas(whole, whole.weight[None])[0]
    shift = figures - _areas(queue, queue.weight[None])[0]
    place = queue.places(asked)
    ends = outer_limits((_areas(queue, held, place) + shift for held in queue.drawn(asked)), asked)
    area, excess, full = (
        as_estimate(value, max(a, least), b, asked, rows.sample, rows.few)
        for value, a, b, least in zip(figures, *ends, (-np.inf, 0.0, -np.inf), strict=True)
    )
    return area, excess, rows.full(asked) or full


def _areas(queue: Queue, held: Array, place: NDArray[np.intp] | None = None) -> Array:
    """Area, excess over the best order, and risk of all rows: (resamples, 3).

    An unseen row stands at a random place: put first, it would enter the risk of every coverage.
    """
    weight, lost = queue.sums(held, place=place)
    area = ordered_area(weight / queue.unit, lost / queue.unit)
    least = ordered_area(*(part / queue.unit for part in queue.sums(held, best=True)))
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


def _read_coverages(at: ArrayLike | None) -> Array:
    share = np.arange(1, 101) / 100 if at is None else points(at, np.empty(0), closed=True)
    if share[0] <= 0:
        raise UsageError(
            "{argument} begins with coverage 0, where no row is left to have a risk.",
            code="share-range",
            argument=Argument("at"),
        )
    return share


def _share(value: object, name: str) -> float:
    if is_number(value) and 0 < float(value) <= 1:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    raise UsageError(
        "{argument} must be above 0 and at most 1, got {value!r}.",
        code="share-range",
        argument=Argument(name),
        value=value,
    )


# --- what each row lost, and how sure it was ------------------------------------------------------


class LossRows(NamedTuple):
    """Labelled rows: what each lost, what it might have lost, how sure it was."""

    sample: Sample
    loss: Array
    least: float
    most: float
    confidence: Array
    few: str
    outcomes: Outcomes | None = None  # where losses are costs of actions
    forecasts: tuple[Forecasts, int] | None = None  # where they are LOG or BRIER losses

    def full(self, asked: Resampling) -> Estimate | None:
        """Return the mean loss as `mean_cost`, `log_loss` or `brier_score` does; None without."""
        if self.outcomes is not None:
            return mean_of(self.outcomes, asked, 1.0)
        if self.forecasts is not None:
            rows, loss = self.forecasts
            return LossFigures(rows, asked).mean(loss)
        return None


def read_losses(
    y_true: ArrayLike | None,
    prob: ArrayLike | None,
    confidence: ArrayLike | str | None,
    loss: ArrayLike | str,
    costs: CostsLike | None,
    drawn: Sampling,
) -> LossRows:
    """Return losses and confidence of the labelled rows; the arguments of `risk_coverage`."""
    if isinstance(loss, str):
        refuse_word("loss", loss, LOSSES)
        return _class_losses(y_true, prob, confidence, loss, costs, drawn)
    if confidence is None or isinstance(confidence, str) or costs is not None:
        raise UsageError(
            "{loss} holds the losses themselves.",
            code="losses-need-confidence",
            loss=Argument("loss"),
            confidence=Argument("confidence"),
            costs=Argument("costs"),
            remedy="Give {confidence} as one number per row, the greatest for the surest, and no "
            "{costs}.",
        )
    lost = read_column(loss, "loss")
    order = read_scores(confidence, "confidence")
    same_length(len(order), len(lost), "confidence")
    sample = read_sample(~np.isnan(lost), *drawn)
    lost, order = lost[sample.rows], order[sample.rows]
    few = sample.few((), (), sample.weight * lost)
    sure = _ties(order, SLACK * np.abs(order))
    return LossRows(sample, lost, float(lost.min()), float(lost.max()), sure, few)


class _Decided(NamedTuple):
    """Decisions from probabilities, before they are put in order."""

    sample: Sample
    label: NDArray[np.intp]  # of the labelled rows
    lost: Array
    ends: Array  # what an unseen row may lose
    doubt: Array  # expected loss of the cheapest actions, of all rows
    scale: Array  # of the losses, for all rows
    outcomes: Outcomes | None = None
    forecasts: tuple[Forecasts, int] | None = None


def _class_losses(
    y_true: ArrayLike | None,
    prob: ArrayLike | None,
    confidence: ArrayLike | str | None,
    loss: str,
    costs: CostsLike | None,
    drawn: Sampling,
) -> LossRows:
    """Losses of decisions made from probabilities."""
    if prob is None or y_true is None:
        raise UsageError(
            "{argument} is missing.",
            code="missing-argument",
            argument=Argument("prob" if prob is None else "y_true"),
            loss=Argument("loss"),
            remedy="Give it, or {loss} as an array of losses.",
        )
    given = prob_table(prob, () if costs is None else as_costs(costs).classes)
    n_classes = given.shape[1] if given.ndim == 2 and given.shape[1] > 1 else 2
    matrix = as_costs(costs) if costs is not None else CostMatrix.zero_one(n_classes)
    refuse_other_index(y_true=y_true, prob=prob, costs=matrix)
    chance = class_probabilities(given, matrix.classes)
    if costs is None:
        _refuse_names(y_true, matrix)
    if costs is None and loss != "zero-one":
        found = _by_loss(y_true, chance, loss, matrix, drawn)
    else:
        found = _by_cost(y_true, given, chance, matrix, drawn)
    rows, lost = found.sample.rows, found.lost
    if not np.isfinite(lost).all():
        raise DataError(
            "The loss of row {row:,} is infinite: what happened had probability 0.",
            code="infinite-loss",
            row=int(rows[np.argmax(~np.isfinite(lost))]),
            loss=Argument("loss", "brier"),
            remedy="Use {loss}, or probabilities above 0.",
        )
    sure, scale = _confidence(confidence, found)
    counts = np.bincount(found.label, minlength=matrix.shape[1])
    few = found.sample.few(matrix.classes, counts, found.sample.weight * lost)
    sure = _ties(sure[rows], SLACK * scale[rows])
    ends = float(found.ends.min()), float(found.ends.max())
    return LossRows(found.sample, lost, *ends, sure, few, found.outcomes, found.forecasts)


def _by_loss(
    y_true: ArrayLike, chance: Array, loss: str, matrix: CostMatrix, drawn: Sampling
) -> _Decided:
    """Losses of the probabilities themselves: Brier score or log loss."""
    n, n_classes = chance.shape
    table = np.column_stack([row_losses(np.full(n, k), chance, loss) for k in range(n_classes)])
    label = encode_labels(y_true, matrix.classes, "y_true")
    same_length(n, len(label), "prob")
    sample = read_sample(label >= 0, *drawn)
    label = label[sample.rows]
    lost = table[sample.rows, label]
    doubt = np.einsum("nk,nk->n", chance, np.where(chance > 0, table, 0.0))[:, None]
    ends = _ends(sample.weight, table[sample.rows], lost, label)
    prob = chance[sample.rows, 1] if n_classes == 2 else chance[sample.rows]
    rows = Forecasts(label, prob, matrix.classes, sample)
    kind = LOG if loss == "log" else BRIER
    return _Decided(sample, label, lost, ends, doubt, np.ones(n), None, (rows, kind))


def _by_cost(
    y_true: ArrayLike, given: NDArray[Any], chance: Array, matrix: CostMatrix, drawn: Sampling
) -> _Decided:
    """Costs of the cheapest actions."""
    place = cheapest(given, matrix)
    found = read_outcomes(y_true, matrix.action_names()[place], matrix, *drawn)
    doubt = np.sort(expected_cost(chance, matrix, classes=matrix.classes), axis=1)
    scale = np.broadcast_to(np.abs(matrix.at()).max(axis=(-2, -1)), len(doubt))
    added = found.unseen_rows()
    lost = found.cost(found.done, found.label)
    return _Decided(
        found.sample, found.label, lost, added[:, 0] / added[:, -1], doubt, scale, found
    )


def _confidence(confidence: ArrayLike | str | None, found: _Decided) -> tuple[Array, Array]:
    """What rows are ordered by, and its scale."""
    if confidence is None or isinstance(confidence, str):
        refuse_word("confidence", confidence or "cost", ORDERS)
        if confidence == "margin" and found.doubt.shape[1] > 1:
            return found.doubt[:, 1] - found.doubt[:, 0], found.scale
        return -found.doubt[:, 0], found.scale
    sure = read_scores(confidence, "confidence")
    same_length(len(sure), len(found.doubt), "confidence")
    return sure, np.abs(sure)


def _ends(weight: Array, table: Array, lost: Array, label: NDArray[np.intp]) -> Array:
    """Least and greatest loss of an unseen row that is like all rows, or like those of a class."""
    met = np.max(lost, where=np.isfinite(lost), initial=0.0)
    finite = np.where(np.isfinite(table), table, met)
    worst, best = finite.max(axis=1), finite.min(axis=1)
    kinds = [np.ones(len(weight), dtype=bool), *(label == k for k in np.unique(label))]
    return np.array([_like(weight[k], side[k]) for k in kinds for side in (best, worst)])


def _like(weight: Array, loss: Array) -> float:
    """Loss of an unseen row that is like these."""
    found = typical_row(weight, np.abs(loss), np.column_stack([loss, np.ones(len(loss))]))
    return float(found[0] / found[1])


def _refuse_names(y_true: ArrayLike, matrix: CostMatrix) -> None:
    """Refuse classes that are not numbered, where no costs name them."""
    try:
        encode_labels(y_true, matrix.classes, "y_true", "the columns of prob")
    except DataError as error:
        raise DataError(
            error.problem.amended(
                named=Phrase("costs=CostMatrix.zero_one(names)"),
                remedy="For classes with names pass {named}, in the order of these columns.",
            )
        ) from None


def _ties(sure: Array, slack: Array) -> Array:
    """Give values that rounding alone tells apart the least of them.

    1 - 0.7 is not 0.3 to the last bit, and rows at both must not queue one behind the other.
    """
    order = np.argsort(sure, kind="stable")
    steps, room = np.diff(sure[order]), slack[order]
    start = np.append(True, steps > np.maximum(room[1:], room[:-1]))
    out = np.empty_like(sure)
    out[order] = sure[order][start][np.cumsum(start) - 1]
    return out
