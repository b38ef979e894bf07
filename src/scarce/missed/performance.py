"""How good is a detector when only its alerts were investigated?

    recall = found / (found + missed),   dP/dR = (P / R)(1 - P / g)        (002 eq 2; g: eq 6 at t)

Precision above the threshold is counted. What lies below is estimated: by a monotone precision
curve and an audit (the default), by an audit alone, or by the paper's mixture of two families.
Assumes what each estimate says of itself. Chooses no labels: see missed/choose.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scarce.checks import read_auc, read_level, read_seed
from scarce.engine.block import Array
from scarce.engine.executors import Engine, one_blas_thread
from scarce.errors import refuse_word
from scarce.missed.answers import ALL, WORTHLESS, Counts, Performance, PerformanceCurve, Question
from scarce.missed.counts import DRAWS, CurveDraws
from scarce.missed.curve import Curves, fit_monotone, slope_prior
from scarce.missed.gather import gather
from scarce.missed.guard import contradictions
from scarce.missed.provenance import Intake

__all__ = ["estimate_performance", "Performance", "PerformanceCurve", "Counts"]

METHODS = ("auto", "mixture", "audit")
FEW_DRAWS = 200.0
MOST_POOLED = 12  # more parameters than that at once, and importance draws are worth too little


def estimate_performance(
    scores: Any,
    labels: Any = None,
    *,
    threshold: Any,
    inclusion: Any = None,
    method: str = "auto",
    auc: float | None = None,
    level: float = 0.9,
    batch: Any = None,
    label_source: Any = None,
    threshold_at_time: Any = None,
    background: Any = "auto",
    foreground: Any = "normal",
    check: bool = True,
    random_state: Any = 0,
    engine: Engine = None,
) -> Performance:
    """Estimate recall, precision, their trade-off and missed events from partly labelled scores.

    Parameters
    ----------
    scores : array-like of shape (n,), or Rows
        Greater means more suspicious; a row is an alert at or above the threshold. `Rows` (from
        open_rows) carry their labels, and the arguments below are then names of their columns.
    labels : array-like of shape (n,)
        1 for an event, 0 for none, missing for *not labelled*.
    threshold : float, or dict of batch -> float
    inclusion : array-like of shape (n,), optional
        Probability with which each labelled row below the threshold had been drawn; 1 for rows
        labelled for certain; NaN for the others. `choose_labels(...).inclusion(n)` gives it, and
        the choice itself is understood too. After several audits: the last one's probabilities,
        and 1 for rows of earlier ones.
    method : {"auto", "mixture", "audit"}
        "auto": a monotone precision curve, and the audit where there is one. "audit": the audit
        alone. "mixture": two families of scores fitted to labelled and unlabelled rows (002).
    auc : float, optional
        Area under the ROC curve in a validation; sharpens the curve while few events were seen.
        Without any label below the threshold it moves the best guess and not the interval.
    level : float
        Coverage of the intervals.
    batch : array-like of shape (n,), optional
        Which week (site, model) a row belongs to. Batches share the shape of the curve; events are
        estimated for each and in total.
    label_source : array-like of shape (n,), optional
        Where each label came from: "alert", "audit", "band", ... or any other word for labels that
        arrived from outside, whose events only bound the missed ones from below.
    threshold_at_time : array-like of shape (n,), optional
        The threshold in force when the row was scored: a label below it did not come from an alert.
    background, foreground : str or family
        For method="mixture".
    check : bool
        Look whether the labels contradict the curve, and warn; for method="mixture" also fit 19
        batches drawn from the fit, and warn where the families look false. Takes up to half of the
        time and changes no figure.
    random_state : int, Generator or None
        Of the draws that carry the uncertainty; the same number gives the same answer.
    engine : engine
        Who folds `Rows`.

    Returns
    -------
    Performance

    Raises
    ------
    DataError, UsageError
        What was seen, where, and what to pass instead.

    **Assumes** that rows were chosen for labelling by their score or with the stated probabilities,
    and that labels are right; each estimate names what else it leans on.

    Notes
    -----
    Up to 262,144 scores in memory the answer depends on their order alone: any monotone rescaling
    gives the same bits. Beyond that, and for `Rows`, scores are read once into at most 4,096 bins a
    label state. Cost grows with the rows for one pass, and not at all after it.

    Examples
    --------
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> found = estimate_performance(trial.scores, trial.y, threshold=9.1)
    >>> print(found.recall)
    0.3 [0.0808, 0.5] (90 %, monotone curve, extrapolated)
    >>> print(found.precision)
    0.306 [0.182, 0.455] (90 %, counted)
    >>> found.counts.alerts, found.counts.events_seen
    (36, 11)
    """
    refuse_word("method", method, METHODS)
    intakes = gather(
        scores,
        labels,
        threshold,
        inclusion=inclusion,
        batch=batch,
        label_source=label_source,
        threshold_at_time=threshold_at_time,
        engine=engine,
    )
    with one_blas_thread:  # small matrices: a second thread only waits, and bits would depend on it
        return performance_of(
            intakes,
            method=method,
            auc=read_auc(auc),
            level=read_level(level),
            families=(background, foreground),
            check=check,
            random_state=read_seed(random_state),
        )


def performance_of(
    intakes: Sequence[Intake],
    *,
    method: str,
    auc: float | None,
    level: float,
    families: tuple[Any, Any],
    check: bool,
    random_state: int,
) -> Performance:
    """Return the estimates of some batches that were sorted out already."""
    warnings = [(at, note) for at, intake in enumerate(intakes) for note in intake.notes]
    curves: CurveDraws | None = None
    points: CurveDraws | None = None
    size = float("nan")
    rng = np.random.default_rng(random_state)
    if method == "auto":
        blind = not any(_labels_below(intake) for intake in intakes)
        monotone = _Pooled.fit(intakes, None if blind else auc, rng)
        curves, size = monotone, monotone.effective_size
        if blind and auc is not None:
            # An AUC is of the whole law. With no label below the threshold nothing holds it against
            # the margin, and where spreads differ its interval misses: it moves the point, and the
            # ends stay those of the wide prior.
            points = _Pooled.fit(intakes, auc, rng)
    elif method == "mixture":
        from scarce.missed.mixture.draws import draw_mixtures  # compiled loops: only when asked

        mixed, notes = draw_mixtures(intakes, families, rng)
        warnings += notes
        if mixed is not None and mixed.effective_size < WORTHLESS:
            text = (
                f"The mixture's draws are worth only {mixed.effective_size:.0f} independent ones, "
                "most likely because two very different fits explain the scores: its figures are "
                "withheld. Use method='auto'."
            )
            warnings.append((ALL, text))
        elif mixed is not None:
            if check:
                warnings += _families_doubted(mixed, intakes, random_state)
            curves, size = mixed, mixed.effective_size
    if check and curves is not None:
        warnings += contradictions(intakes, curves, rng)
    warnings += [(ALL, text) for text in _doubts(intakes, level, size)]
    question = Question(
        tuple(intakes),
        curves,
        method,
        auc,
        level,
        random_state,
        size,
        tuple(warnings),
        tuple(range(len(intakes))),
        points,
    )
    return question.answer([intake.threshold for intake in intakes])


def _doubts(intakes: Sequence[Intake], level: float, size: float) -> list[str]:
    """Warn of what concerns the whole estimate."""
    texts = []
    if not any(intake.ledger.events.sum() + intake.ledger.others.sum() for intake in intakes):
        texts.append("No row is labelled: label the alerts first, all figures are a prior's.")
    if (1 - level) / 2 * DRAWS < 4:
        texts.append(
            f"level={level:g} asks for the ends of {DRAWS} draws: they are rough. Ask for 0.99."
        )
    if size < FEW_DRAWS:
        texts.append(
            f"The draws behind the intervals are worth only {size:.0f} independent ones: their "
            "ends are rough. Pass another random_state and compare."
        )
    return texts


@dataclass(frozen=True, slots=True)
class _Pooled:
    """Monotone curves, asked by rank; batches share their shape within groups."""

    groups: tuple[Curves, ...]
    spot: tuple[tuple[int, int], ...]  # group and place in it of each batch

    @classmethod
    def fit(cls, intakes: Sequence[Intake], auc: float | None, rng: np.random.Generator) -> _Pooled:
        """Fit curves to groups of neighbouring batches, as large as draws allow."""
        parts = np.array_split(np.arange(len(intakes)), -(-len(intakes) // MOST_POOLED))
        groups = []
        for part in parts:
            here = [intakes[index] for index in part]
            seen = sum(_events_seen(intake) for intake in here) / len(here)
            groups.append(
                fit_monotone(
                    [one.ledger for one in here],
                    [one.threshold for one in here],
                    slope_prior(auc, seen),
                    rng,
                )
            )
        spot = tuple((group, at) for group, part in enumerate(parts) for at in range(len(part)))
        return cls(tuple(groups), spot)

    @property
    def effective_size(self) -> float:
        """The least of the groups'."""
        return min(one.draws.effective_size for one in self.groups)

    @property
    def curves(self) -> Curves:
        """The first group's."""
        return self.groups[0]

    def share_of_events(self, intake: Intake, index: int, score: Array, place: Array) -> Array:
        group, at = self.spot[index]
        return self.groups[group].precision(place, at)


def _labels_below(intake: Intake) -> bool:
    cut = intake.ledger.above(intake.threshold)
    return bool((intake.ledger.events[cut:] + intake.ledger.others[cut:]).any())


def _events_seen(intake: Intake) -> float:
    return float(intake.ledger.events[: intake.ledger.above(intake.threshold)].sum())


def _families_doubted(
    mixed: Any, intakes: Sequence[Intake], random_state: int
) -> list[tuple[int, str]]:
    """Warn where a batch drawn from the fit never looks as odd as the one at hand."""
    warnings = []
    for index, intake in enumerate(intakes):
        chance = mixed.chance_of_distance(index, intake.ledger, 19, random_state)
        where = "" if intake.name is None else f" in batch {intake.name!r}"
        if chance <= 0.05:
            text = (
                f"The scores{where} do not follow the fitted families (KS by bootstrap, p <= "
                f"{chance:.2f}): the interval leaves that doubt out. Compare method='auto'."
            )
            warnings.append((index, text))
    return warnings
