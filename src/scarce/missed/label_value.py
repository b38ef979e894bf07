"""Where on the score axis does one more label say most about recall?

    value(s) = g (1 - g) (slope' C [score_event(s) - score_other(s)])^2 / (2 sd)

with g the posterior (002 eq 6), C the inverse of the present information, slope = d recall / d
params and sd the present standard error of recall. A label at s adds the variance of the two scores
a row there may have, g (1 - g) (difference)(difference)' (Louis 1982), so this is the first-order
fall of sd for one label. Assumes that the mixture is true: a check on the mixture itself, which a
random audit is, has no value here. Chooses no rows: see `choose_labels`.
"""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from scarce.checks import Number, read_number, read_scores, read_threshold
from scarce.errors import Argument, DataError, Problem, UsageError
from scarce.missed.information import (
    Information,
    KnownMixture,
    MixtureLike,
    information,
    label_scores,
    score_axis,
)
from scarce.missed.mixture.families import Array, quiet
from scarce.results import short

FEWEST = 2.0**-20  # share of rows of the smallest region, wherever labels begin


@dataclass(frozen=True)
class LabelValue:
    """How much one more label lowers the standard error of recall, region by region.

    Parameters
    ----------
    low, high : ndarray of shape (n_regions,)
        Ends of the regions, from the highest scores down; `low` belongs to a region, `high` not.
    value : ndarray of shape (n_regions,)
        Fall of recall's standard error for a label on a row drawn at random from the region.
    parameter_value : ndarray of shape (n_params, n_regions)
        The same for the standard error of each parameter.
    names : tuple of str
        Of the parameters.
    share_of_rows : ndarray of shape (n_regions,)
        Rows in the region without a label, as a share of all such rows.
    posterior : ndarray of shape (n_regions,)
        Share of events expected among them.
    recall_sd : float
        Standard error of recall at present.
    threshold : float
    warnings : tuple of Problem
        Why the ranking cannot be trusted.
    """

    low: Array
    high: Array
    value: Array
    parameter_value: Array
    names: tuple[str, ...]
    share_of_rows: Array
    posterior: Array
    recall_sd: float
    threshold: float
    warnings: tuple[Problem, ...] = ()

    @property
    def best(self) -> int:
        """Position of the region where a label is worth most."""
        return int(np.argmax(self.value))

    def __len__(self) -> int:
        return len(self.value)

    def __str__(self) -> str:
        lines = [
            f"Recall at threshold {self.threshold:.4g} has a standard error of "
            f"{short(self.recall_sd)}. One more label lowers it by:",
            f"{'scores from':>12} {'to':>10} {'rows':>8} {'events':>8} {'lowers by':>10}",
        ]
        for at in range(len(self)):
            mark = " <- most" if at == self.best and self.value[at] > 0 else ""
            rows, events = _percent(self.share_of_rows[at]), _percent(self.posterior[at])
            lines.append(
                f"{self.low[at]:>12.4g} {self.high[at]:>10.4g} {rows:>8} {events:>8}"
                f" {self.value[at]:>10.2g}{mark}"
            )
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"


def label_value(
    mixture: MixtureLike,
    *,
    threshold: float,
    n_rows: float | None = None,
    scores: ArrayLike | None = None,
    labelled_from: float | None = None,
    present: Information | None = None,
    edges: ArrayLike | None = None,
) -> LabelValue:
    """Say for each region of the score axis what one more label there is worth.

    Parameters
    ----------
    mixture : fitted ScoreMixture or KnownMixture
    threshold : float
        Recall is that of alerts at or above it.
    n_rows : float
        Rows in the batch, labelled or not. Not needed with `present`.
    scores : array-like of shape (n,), optional
        Scores of the rows without a label; by default the mixture's own are taken.
    labelled_from : float, optional
        Rows at or above are labelled already and in no region; by default those at or above the
        threshold, or with `present` none.
    present : Information, optional
        What is known already, such as `ScoreMixture.fisher_information()`, instead of `n_rows`.
    edges : array-like, optional
        Ends of the regions. By default a region holds about as many rows as all those above it.

    Returns
    -------
    LabelValue

    Notes
    -----
    The fall is of first order: where it is not small beside the standard error itself, as with few
    labelled events, a label brings less than said. The ranking of regions is what to go by.

    Examples
    --------
    >>> from scarce.missed.information import KnownMixture
    >>> mixture = KnownMixture(0.008, "normal", [6.56, 0.0], "normal", [8.44, 0.0])
    >>> print(label_value(mixture, threshold=9.11, n_rows=5000, labelled_from=8.4))
    Recall at threshold 9.11 has a standard error of 0.226. One more label lowers it by:
     scores from         to     rows   events  lowers by
           8.045        8.4    3.8 %      3 %     0.0013
           7.632      8.045    7.6 %    1.5 %      0.002
           7.116      7.632     15 %   0.64 %     0.0023 <- most
           6.346      7.116     31 %    0.2 %      0.002
            -inf      6.346     43 %  0.035 %      0.001
    """
    own = _own(mixture)
    (threshold,) = read_threshold(threshold, [None])
    top = threshold if present is None else math.inf
    if labelled_from is not None:
        top = read_number(labelled_from, "labelled_from", Number())
    known = _known(own, n_rows, top, present)
    pool = None if scores is None else read_scores(scores)
    ends = _edges(own, top, pool, edges)
    regions = _regions(own, ends, pool)
    filled = np.array([float(mass.sum()) > 0 for _, mass, _ in regions])
    if not filled.any():
        raise DataError(
            "No row without a label lies in the regions from {low:g} to {high:g}.",
            code="no-rows",
            low=float(ends[-1]),
            high=float(ends[0]),
            scores=Argument("scores"),
            edges=Argument("edges"),
            remedy="Give {scores} of rows without a label, or other {edges}.",
        )
    gradients = np.vstack([known.recall_gradient(threshold), np.eye(len(known.names))])
    sds = np.sqrt([known.variance(one) for one in gradients])
    _refuse_recall(float(sds[0]), threshold)
    share = np.array([mass.sum() for _, mass, _ in regions if mass.sum() > 0])
    kept = [one for one in regions if one[1].sum() > 0]
    table = np.array([_values(known, own, gradients, sds, s, g) @ mass for s, mass, g in kept]).T
    return LabelValue(
        low=ends[1:][filled],
        high=ends[:-1][filled],
        value=table[0] / share,
        parameter_value=table[1:] / share,
        names=known.names,
        share_of_rows=share / share.sum(),
        posterior=np.array([g @ mass for _, mass, g in kept]) / share,
        recall_sd=float(sds[0]),
        threshold=threshold,
        warnings=_warnings(mixture),
    )


def _known(
    own: KnownMixture, n_rows: float | None, top: float, present: Information | None
) -> Information:
    """Return what is known already: as given, or from rows labelled at or above `top`."""
    if present is None:
        if n_rows is None:
            raise UsageError(
                "What a label adds depends on what is known: give {n_rows}, the number of rows in "
                "the batch, or {present}, an Information.",
                code="nothing-known",
                n_rows=Argument("n_rows"),
                present=Argument("present"),
            )
        rows = read_number(n_rows, "n_rows", Number(0, open_low=True))
        return information(own, rows, design="tail", threshold=top)
    if isinstance(present, Information) and len(present.names) == len(own.names):
        return present
    raise UsageError(
        "{argument} must be the Information of this mixture, got a {kind}.",
        code="other-information",
        argument=Argument("present"),
        kind=type(present).__name__,
        n_rows=Argument("n_rows"),
        remedy="Pass mixture.fisher_information(), or {n_rows} instead.",
    )


def _refuse_recall(sd: float, threshold: float) -> None:
    """Refuse a recall whose standard error no label can lower."""
    if not math.isfinite(sd):
        raise DataError(
            "Recall is not identified by these rows and labels: its standard error is infinite, so "
            "labels cannot be ranked by how much they lower it.",
            code="not-identified",
            remedy="Label some rows at random, or the highest scores, first.",
        )
    if sd == 0.0:
        raise DataError(
            "Under this mixture no event scores at or above the threshold, {threshold:g}: recall "
            "is 0 there whatever is labelled.",
            code="recall-zero",
            threshold=threshold,
            remedy="Give a threshold among the scores.",
        )


def _own(mixture: MixtureLike) -> KnownMixture:
    """Return the mixture's parameters."""
    if getattr(mixture, "background_", None) == "":  # fitted, and nothing came of it
        raise DataError(
            "This mixture has no parameters ({why}), so labels cannot be ranked by it.",
            code="not-identified",
            why=getattr(mixture, "why_", ""),
            remedy="Label some of the highest scores first, or fit it to other scores.",
        )
    return KnownMixture.of(mixture)


def _warnings(mixture: MixtureLike) -> tuple[Problem, ...]:
    if getattr(mixture, "identified_", True):
        return ()
    return (
        Problem(
            "The mixture cannot be trusted yet ({why}), nor can this ranking.",
            code="not-identified",
            why=getattr(mixture, "why_", ""),
            audit=Argument("policy", "audit", call="choose_labels"),
            remedy="Label some of the highest scores first, or use {audit}.",
        ),
    )


@quiet
def _values(
    known: Information, own: KnownMixture, gradients: Array, sds: Array, s: Array, event: Array
) -> Array:
    """Return the fall of each standard error for a label at each score, shape (figures, n)."""
    if_event, if_not = label_scores(own, s)
    apart = (if_event - if_not) * known.unit[:, None]
    moved = known.solve(gradients.T).T @ apart
    fall = event * (1.0 - event) * moved**2 / (2.0 * sds[:, None])
    return np.where(np.isfinite(sds)[:, None], fall, np.nan)


def _edges(own: KnownMixture, top: float, pool: Array | None, edges: ArrayLike | None) -> Array:
    """Return ends of regions from the top down; by default each holds twice the last one's rows."""
    if edges is not None:
        try:
            given = np.asarray(edges, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.empty(0)
        if given.ndim != 1 or np.isnan(given).any() or len(np.unique(given)) < max(len(given), 2):
            raise UsageError(
                "{argument} must hold at least two different scores, such as [6, 7, 8, 9], got "
                "{value}.",
                code="edges-value",
                argument=Argument("edges"),
                value=reprlib.repr(edges),
            )
        return np.sort(given)[::-1]
    if pool is not None:
        shares = 2.0 ** -np.arange(9.0, 0.0, -1.0)
        inner = np.unique(np.quantile(pool, 1.0 - shares))[::-1] if len(pool) else np.empty(0)
    elif math.isfinite(top):
        shares = max(float(own.alarm_rate(top)), FEWEST) * 2.0 ** np.arange(1.0, 60.0)
        inner = own.threshold_for(shares[shares < 0.75])
    else:
        inner = own.threshold_for(2.0 ** -np.arange(9.0, 0.0, -1.0))
    return np.concatenate([[top], inner[inner < top], [-math.inf]])


def _regions(
    own: KnownMixture, ends: Array, pool: Array | None
) -> list[tuple[Array, Array, Array]]:
    """Return scores, masses and posteriors of each region, of the mixture or of rows at hand."""
    pairs = list(zip(ends[1:], ends[:-1], strict=True))
    if pool is None:
        axes = [score_axis(own, float(low), float(high)) for low, high in pairs]
        return [(axis.s, axis.mass, axis.posterior) for axis in axes]
    inside = [pool[(pool >= low) & (pool < high)] for low, high in pairs]
    return [(one, np.ones(len(one)), own.posterior(one)) for one in inside]
