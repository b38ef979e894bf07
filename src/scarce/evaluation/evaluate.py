"""How good are these probabilities, on rows whose outcome is known?

    skill = 1 - loss / loss of the constant forecast,     constant = share of each class, these rows
    gap   = mean probability - share that happened
    at a threshold:  recall = alerts among events,  precision = events among alerts

Proper scores first (log loss, Brier), then what they are made of: calibration and ranking. All with
intervals, for rows that stand alone, that were drawn with known probabilities, or that come in
groups; two classes or several. Assumes that the rows with a label stand for those to be judged, by
themselves or by 1 / inclusion. Does not weigh mistakes by money: see cost.py. Where only alerts
were looked at, figures at a threshold are not counts: see missed/performance.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import (
    FEW,
    Bootstrap,
    Figure,
    Inclusion,
    Resampling,
    Sample,
    Seed,
    read_kind,
    read_sample,
)
from scarce.checks import (
    Number,
    read_labels,
    read_number,
    read_scores,
    read_threshold,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, Problem, UsageError
from scarce.evaluation.calibration import calibration_of
from scarce.evaluation.copies import copy_remarks
from scarce.evaluation.ranking import ranked
from scarce.evaluation.scores import BRIER, LOG, Forecasts, LossFigures, untested
from scarce.results import Estimate, Record, in_rows

ROUNDING = 1e-12  # of a share saved
LOW_OTHER, HIGH_OTHER, LOW_EVENT, HIGH_EVENT = range(4)


@dataclass(frozen=True, eq=False)
class AtThreshold(Record):
    """What a threshold finds.

    Parameters
    ----------
    threshold : float
        A row is an alert at or above it.
    recall, precision, specificity, alerts : Estimate
        Alerts among events, events among alerts, rows below among the others, and alerts among all
        rows. NaN where there is nothing to take a share of.
    found, missed, false_alarms : int
        Labelled rows, as counted.
    """

    threshold: float
    recall: Estimate
    precision: Estimate
    specificity: Estimate
    alerts: Estimate
    found: int
    missed: int
    false_alarms: int


@dataclass(frozen=True, eq=False)
class Evaluation(Record):
    """Figures of probabilities on labelled rows.

    Parameters
    ----------
    classes : tuple of names
        Negative first, where there are two.
    rows : int
        Rows that were judged.
    counts : tuple of int
        Rows of each class among them.
    log_loss, brier : Estimate
    constant_log_loss, constant_brier : Estimate
        Of the constant forecast.
    log_loss_skill, brier_skill : Estimate
        Share of the constant's loss that is saved: 1 perfect, 0 no better, below 0 worse.
    events : tuple of names
        The classes that the next five are about: the last of two, each one of several.
    calibration : tuple of Estimate
        Calibration loss of each, against all others, as `calibration_loss(..., cut="rows")`.
    given, happened, gap : tuple of Estimate
        Mean probability, base rate, and the difference.
    auc : tuple of Estimate
        How often a row of the class outranks another.
    level : float
    at_threshold : AtThreshold, or None without `threshold=`
    remarks : tuple of str
        What the reader should know, most important first; also where rows seem to be copies of
        others ("repeated-rows"; see `scarce.evaluation.copies`).

    Examples
    --------
    >>> print(evaluate([0, 0, 1, 0] * 25, [0.1, 0.2, 0.7, 0.1] * 25))
    100 rows (75 of class 0, 25 of class 1)
      log loss             0.198 [0.18, 0.254], constant 0.562
      Brier score          0.0375 [0.0319, 0.0588], constant 0.188
      calibration loss     0.0375 [0.0239, 0.0424]
      mean given           0.275 [0.234, 0.321]
      happened             0.25 [0.181, 0.328]
      AUC                  1 [0.889, 1]
    """

    classes: tuple[Hashable, ...]
    rows: int
    counts: tuple[int, ...]
    log_loss: Estimate
    brier: Estimate
    constant_log_loss: Estimate
    constant_brier: Estimate
    log_loss_skill: Estimate
    brier_skill: Estimate
    events: tuple[Hashable, ...]
    calibration: tuple[Estimate, ...]
    given: tuple[Estimate, ...]
    happened: tuple[Estimate, ...]
    gap: tuple[Estimate, ...]
    auc: tuple[Estimate, ...]
    level: float
    remarks: tuple[str, ...] = ()
    at_threshold: AtThreshold | None = None

    def __str__(self) -> str:
        named = [f"{n:,} of class {c}" for c, n in zip(self.classes, self.counts, strict=True)]
        lines = [f"{in_rows(self.rows)} ({', '.join(named)})"]
        for name, one, beside in (
            ("log loss", self.log_loss, self.constant_log_loss),
            ("Brier score", self.brier, self.constant_brier),
        ):
            lines.append(f"  {name:<20} {one.brief()}, constant {beside.brief(limits=False)}")
        for at, event in enumerate(self.events):
            of = f" of {event}" if len(self.events) > 1 else ""
            for name, one in (
                ("calibration loss", self.calibration[at]),
                ("mean given", self.given[at]),
                ("happened", self.happened[at]),
                ("AUC", self.auc[at]),
            ):
                lines.append(f"  {name + of:<20} {one.brief()}")
        if self.at_threshold is not None:
            for name in ("recall", "precision", "specificity", "alerts"):
                one = getattr(self.at_threshold, name)
                what = f"{name} at {self.at_threshold.threshold:g}"
                lines.append(f"  {what:<20} {one.brief(percent=True)}")
        return "\n".join([*lines, *(f"remark: {text}" for text in self.remarks)])


def evaluate(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    classes: Sequence[Hashable] | None = None,
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Evaluation:
    """Judge probabilities by what happened.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes, as `classes` names them; without names, 0, 1 and so on. Missing where not labelled,
        with `inclusion`.
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of each class.
    classes : sequence of names, optional
        In the order of the columns of `prob`, negative first where there are two.
    threshold : float, optional
        Also count what this probability finds: recall, precision, specificity and alerts. For two
        classes.
    sample_weight : array-like of shape (n,), optional
        How much of the population a row stands for.
    weight_kind : {"survey", "frequency"}
        "survey": only ratios of weights matter, and a row of weight 2 is one draw. "frequency": 2
        is the row twice.
    inclusion : array-like of shape (n,) or LabelChoice, optional
        Probability that each row was labelled; NaN for rows that were not drawn.
    groups : array-like of shape (n,), optional
        Which rows belong together, such as the card, the patient or the site of each. Whole groups
        are resampled then.
    level, resamples, random_state
        Coverage of the intervals; number of resamples, by default 1,000, and more for levels
        near 1; seed.

    Returns
    -------
    Evaluation
        Where one class has no row, limits are unknown: the probabilities of such rows were never
        tested.

    **Assumes** independent rows, or groups; with `inclusion`, labels drawn with those
    probabilities.

    Notes
    -----
    Limits of a mean are those of the bootstrap with one unseen row added (see
    `scarce.bootstrap`): a surprise that was not met yet may be the next row. `brier_score`,
    `log_loss` and `brier_curve` give the same numbers for the same rows, level and seed.

    Examples
    --------
    >>> found = evaluate([0, 0, 1, 0] * 25, [0.1, 0.2, 0.7, 0.1] * 25, threshold=0.5)
    >>> print(found.brier)
    0.0375 [0.0319, 0.0588] (90 %, bootstrap, one unseen row added)
    >>> print(found.brier_skill)
    0.8 [0.699, 0.814] (90 %, bootstrap, one unseen row added)
    >>> found.auc[0].value, round(found.gap[0].value, 3), found.at_threshold.found
    (1.0, 0.025, 25)
    """
    asked = Resampling.read(level, resamples, random_state)
    rows = Forecasts.read(
        y_true, prob, classes, read_kind(sample_weight, weight_kind), inclusion, groups
    )
    if threshold is not None:
        threshold = read_number(threshold, "threshold", Number(0, 1), "prob-range")
    if threshold is not None and len(rows.classes) > 2:
        raise UsageError(
            "{threshold} needs two classes, and there are {count}.",
            code="two-classes-needed",
            threshold=Argument("threshold"),
            count=len(rows.classes),
        )
    return evaluated(rows, asked, threshold)


def evaluated(rows: Forecasts, asked: Resampling, threshold: float | None = None) -> Evaluation:
    """Return the figures of rows that were read."""
    losses = LossFigures(rows, asked)
    sides = [((rows.place == k).astype(np.float64), rows.given(k)) for k in rows.events]
    at = range(len(sides))
    calibration = [calibration_of(y, p, rows.sample, asked, bins=10, cut="rows") for y, p in sides]
    if np.count_nonzero(rows.counts) == 1:
        calibration = [untested(one) for one in calibration]
    figures = {
        "log_loss": losses.mean(LOG),
        "brier": losses.mean(BRIER),
        "constant_log_loss": losses.constant(LOG),
        "constant_brier": losses.constant(BRIER),
        "log_loss_skill": losses.skill(LOG),
        "brier_skill": losses.skill(BRIER),
    }
    auc = tuple(ranked(y == 1, p, rows.sample, asked) for y, p in sides)
    return Evaluation(
        classes=rows.classes,
        rows=len(rows.place),
        counts=tuple(rows.counts.tolist()),
        events=tuple(rows.classes[k] for k in rows.events),
        calibration=tuple(calibration),
        given=tuple(losses.given(k) for k in at),
        happened=tuple(losses.happened(k) for k in at),
        gap=tuple(losses.gap(k) for k in at),
        auc=auc,
        level=asked.level,
        remarks=(
            *_ranking_remarks(auc),
            *_skill_remarks(rows, figures["log_loss_skill"], figures["brier_skill"]),
            *copy_remarks(rows.prob, rows.place, rows.sample),
            *_few_remarks(rows),
        ),
        at_threshold=None
        if threshold is None
        else threshold_figures(rows.place == 1, rows.given(1), threshold, rows.sample, asked),
        **figures,
    )


def at_threshold(
    y_true: ArrayLike,
    score: ArrayLike,
    threshold: float,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> AtThreshold:
    """Return what a threshold finds, with intervals for further rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; missing where not labelled, with `inclusion`.
    score : array-like of shape (n,)
        Scores or probabilities. A row is an alert at or above the threshold.
    threshold : float
    sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
        As in `evaluate`.

    **Assumes** independent rows, or groups, labelled whatever their score.

    Examples
    --------
    >>> found = at_threshold([0] * 90 + [1] * 10, [0.1] * 85 + [0.9] * 12 + [0.1] * 3, 0.5)
    >>> print(found.recall)
    0.7 [0.401, 0.914] (90 %, bootstrap, one unseen row added)
    >>> found.found, found.missed, found.false_alarms
    (7, 3, 5)
    """
    refuse_other_index(
        y_true=y_true, score=score, sample_weight=sample_weight, inclusion=inclusion, groups=groups
    )
    asked = Resampling.read(level, resamples, random_state)
    scores = read_scores(score, "score")
    y = read_labels(y_true, len(scores), "y_true")
    sample = read_sample(~np.isnan(y), read_kind(sample_weight, weight_kind), inclusion, groups)
    return threshold_figures(y[sample.rows] == 1, scores[sample.rows], threshold, sample, asked)


def threshold_figures(
    event: NDArray[np.bool_], score: Array, threshold: float, sample: Sample, asked: Resampling
) -> AtThreshold:
    """Return what a threshold finds among labelled rows that were read."""
    (cut,) = read_threshold(threshold, [None])
    kind = (2 * event + (score >= cut)).astype(np.intp)
    drawn = Bootstrap(kind, 4, sample, asked, region=np.array([0, 1, 0, 1]))
    count = np.bincount(kind, minlength=4)

    def share(part: list[int], whole: list[int]) -> Estimate:
        figure: Figure = lambda sums: sums[:, part].sum(axis=1) / sums[:, whole].sum(axis=1)  # noqa: E731
        return drawn.estimate(figure, 0.0, 1.0)

    return AtThreshold(
        threshold=cut,
        recall=share([HIGH_EVENT], [LOW_EVENT, HIGH_EVENT]),
        precision=share([HIGH_EVENT], [HIGH_OTHER, HIGH_EVENT]),
        specificity=share([LOW_OTHER], [LOW_OTHER, HIGH_OTHER]),
        alerts=share([HIGH_OTHER, HIGH_EVENT], [0, 1, 2, 3]),
        found=int(count[HIGH_EVENT]),
        missed=int(count[LOW_EVENT]),
        false_alarms=int(count[HIGH_OTHER]),
    )


def _ranking_remarks(ranks: Sequence[Estimate]) -> list[str]:
    if not any(one.high < 0.5 for one in ranks):
        return []
    return [
        Problem(
            "Events rank below other rows (AUC below 0.5): are the classes exchanged, or is this "
            "the probability of the other class?",
            code="ranks-reversed",
        )
    ]


def _skill_remarks(rows: Forecasts, skill: Estimate, brier_skill: Estimate) -> list[str]:
    """Say whether the probabilities gain anything over the constant forecast."""
    if np.count_nonzero(rows.counts) == 1:
        return [
            Problem(
                "There are rows of class {name} only ({rows}): probabilities of others were not "
                "tested, so no limits are known.",
                code="one-class",
                name=str(rows.classes[int(np.argmax(rows.counts))]),
                rows=in_rows(len(rows.place)),
                remedy="Label rows of the other class.",
            )
        ]
    if skill.high < -ROUNDING:
        return [
            Problem(
                "These probabilities lose more than the same one for every row would: as they are, "
                "they are worse than the base rate alone.",
                code="worse-than-constant",
            )
        ]
    if skill.low > 0:
        return []
    brier = " In Brier score there is one." if brier_skill.low > 0 else ""
    over = "over the same probability for every row in log loss"
    if skill.value > ROUNDING:
        return [
            Problem(
                "A gain {over} cannot be told from noise.{brier}",
                code="gain-within-noise",
                over=over,
                brier=brier,
            )
        ]
    return [
        Problem(
            "No gain {over}; the difference is within the noise.{brier}",
            code="no-gain",
            over=over,
            brier=brier,
        )
    ]


def _few_remarks(rows: Forecasts) -> list[str]:
    said: list[str] = []
    counts = rows.counts
    few = [(int(c), n) for n, c in zip(rows.classes, counts, strict=True) if 0 < c < FEW]
    if few and np.count_nonzero(counts) > 1:
        count, name = min(few, key=lambda pair: pair[0])
        said.append(
            Problem(
                "Only {rows} of class {name}: the intervals are wide, as they must be.",
                code="few-rows",
                rows=in_rows(count),
                name=str(name),
                remedy="Label more.",
            )
        )
    n_groups = rows.sample.n_groups
    if n_groups is not None and n_groups < FEW:
        said.append(
            Problem(
                "Only {count} groups: one of them decides much.", code="few-groups", count=n_groups
            )
        )
    return said
