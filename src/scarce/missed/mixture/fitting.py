"""Which pair of families, and can it be trusted? Fits of every candidate, ranked.

    likelihood   AIC / 2 = number of parameters - log likelihood
    ks           the greatest distance between fitted and observed distribution  (002 section 3)

The whole ranking is kept. A fit that puts the events below the others, makes them the majority, or
has no labelled event is *not identified*, with the reason. Assumes that the evidence is sorted into
label states. Maximises no likelihood itself: see em.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Problem, UsageError
from scarce.missed.digest import STATES, Points, ScoreDigest, squeeze
from scarce.missed.information import Information, KnownMixture, MixtureLike
from scarce.missed.mixture.em import (
    FLOOR,
    Evidence,
    FittedPair,
    Pair,
    curvature_of,
    fit_pair,
    paper_start,
    run_em,
    spread_of,
)
from scarce.missed.mixture.families import NOT_POSITIVE_ONLY, Family, family
from scarce.missed.score_table import ScoreTable
from scarce.results import RankedFit

BACKGROUNDS = ("normal", "lognormal", "gamma")
FIT_BINS = 512  # benchmarks scores-fit prints how far from the rows' own optimum, in s.e.
PAPER_STOP = 1e-8
CERTIFIED = 1e-2  # of a standard error


class Ranked(NamedTuple):
    """A record and the fit behind it."""

    record: RankedFit
    fitted: FittedPair
    converged: bool


def evidence_of(digest: ScoreDigest, bins: int = FIT_BINS) -> Evidence:
    """Return weighted points of the three label states, for a fit."""
    states = [squeeze(getattr(digest, state), bins, np.empty(0)) for state in STATES]
    coarse = replace(digest, unlabelled=states[0], positive=states[1], negative=states[2])
    return Evidence(
        *coarse.points("unlabelled"), *coarse.points("positive"), *coarse.points("negative")
    )


def digest_of_table(table: ScoreTable, bins: int) -> ScoreDigest:
    """Return the digest of a score table."""
    states = []
    for count in (table.unlabelled, table.events, table.others):
        held = np.flatnonzero(count > 0)[::-1]
        points = Points(count[held], table.score[held], np.zeros(len(held)))
        states.append(squeeze(points, bins, np.empty(0)))
    low, high = float(table.score[-1]), float(table.score[0])
    unlabelled, positive, negative = states
    return ScoreDigest(unlabelled, positive, negative, low, high, round(table.n), bins, np.empty(0))


def candidates(
    background: str | Family | Sequence[str | Family],
    foreground: str | Family | Sequence[str | Family],
    digest: ScoreDigest,
) -> tuple[list[tuple[Family, Family]], list[Problem]]:
    """Return the pairs to fit, and what was left out and why."""
    wanted = BACKGROUNDS if isinstance(background, str) and background == "auto" else background
    behind = [family(one) for one in _listed(wanted)]
    front = [family(one) for one in _listed(foreground)]
    for part, word in ((behind, "background"), (front, "foreground")):
        if not part:
            raise UsageError(
                "{argument} must name at least one family, such as 'normal'.",
                code="no-family",
                argument=Argument(word),
            )
        names = [one.name for one in part]
        if len(set(names)) < len(names):
            raise UsageError(
                "{argument} holds two families named {name!r}: give each its own name.",
                code="same-family",
                argument=Argument(word),
                name=max(names, key=names.count),
            )
    left_out: list[str] = []
    if digest.minimum <= 0:
        left_out = list(dict.fromkeys(one.name for one in behind + front if one.positive_only))
        behind, front = ([one for one in part if not one.positive_only] for part in (behind, front))
        if not (behind and front):
            raise DataError(
                "The {family} family needs scores above 0, got {least:g}; scores are never shifted "
                "silently.",
                code="family-range",
                family=" and ".join(left_out),
                least=digest.minimum,
                remedy=NOT_POSITIVE_ONLY,
            )
    notes = [
        Problem(
            "The {family} family was left out: it needs scores above 0, and the least is "
            "{least:g}.",
            code="family-left-out",
            family=name,
            least=digest.minimum,
        )
        for name in left_out
    ]
    return [(b, f) for b in behind for f in front], notes


def _listed(value: str | Family | Sequence[str | Family]) -> list[str | Family]:
    return list(value) if isinstance(value, (list, tuple)) else [value]  # type: ignore[list-item]


def rank_fits(
    data: Evidence,
    fine: Evidence,
    pairs: list[tuple[Family, Family]],
    *,
    start: str,
    select: str,
    spread_prior: float | None,
    max_iter: int,
    keep_path: bool,
) -> list[Ranked]:
    """Fit every pair to the data; best first. KS distances are taken on finer bins."""
    score = data.everything[0]
    if len(score) == 0 or score.min() == score.max():
        return []
    if len(data.open_score) + len(data.other_score) == 0:
        return []
    ranked = []
    for behind, front in pairs:
        if start == "paper":
            one = _as_printed(data, behind, front, max_iter, keep_path)
        else:
            one = _best(fit_pair(data, behind, front, spread_prior=spread_prior))
        if one is None:
            continue
        size = 1 + len(behind.names) + len(front.names)
        record = RankedFit(
            behind.name,
            front.name,
            float(size - one.log_likelihood),
            float(one.log_likelihood),
            ks_distance(one.pair, fine),
            float(one.pair.positive_share),
        )
        limit = PAPER_STOP if start == "paper" else CERTIFIED
        ranked.append(Ranked(record, one, one.certificate <= limit))
    ranked.sort(key=lambda one: one.record.ks if select == "ks" else one.record.criterion)
    return ranked


def _best(fits: list[FittedPair]) -> FittedPair | None:
    """Prefer the best fit whose events are the minority and score higher; else the best."""
    sane = [one for one in fits if _fault(one.pair) == ""]
    return next(iter(sane or fits), None)


def _as_printed(
    data: Evidence, behind: Family, front: Family, max_iter: int, keep_path: bool
) -> FittedPair | None:
    """EM from the labelled rows alone, as 002 section 5 says."""
    start = paper_start(data, behind, front)
    if start is None:
        return None
    return run_em(
        start,
        data,
        steps=max_iter,
        stop=PAPER_STOP,
        floor=FLOOR * spread_of(data),
        keep_path=keep_path,
    )


def _fault(pair: Pair) -> str:
    behind = pair.background.mean(pair.background_params)
    front = pair.foreground.mean(pair.foreground_params)
    if pair.positive_share >= 0.5:
        return (
            f"the fit makes events the majority (share {pair.positive_share:.3g}): the two parts "
            "have most likely changed places"
        )
    if not front > behind:
        return (
            f"the fit puts events (mean {front:.4g}) no higher than other rows (mean {behind:.4g})"
        )
    return ""


def why_not_identified(best: Ranked | None, data: Evidence) -> tuple[bool, str]:
    """Say whether the fit can be trusted, and why not."""
    if best is None:
        score = data.everything[0]
        if len(score) and score.min() == score.max():
            return False, f"all scores are {score.min():g}, so no score tells events from others"
        if len(data.open_score) + len(data.other_score) == 0:
            return False, "every row is labelled as an event, so there is nothing to tell them from"
        return False, (
            "the labelled rows do not give a start: at least two different scores of events and of "
            "other rows are needed with start='paper'. Use start='bulk'"
        )
    fault = _fault(best.fitted.pair)
    if fault:
        return False, fault
    if len(data.event_score) == 0:
        return False, "no labelled event: the second part of the mixture may be anything"
    floor = 2 * FLOOR * spread_of(data)
    pair = best.fitted.pair
    if pair.foreground.spread(pair.foreground_params) <= floor:
        return False, "the events' part has closed on a single score"
    return True, ""


def ks_distance(pair: Pair, data: Evidence) -> float:
    """Return the greatest distance between the fitted and the observed distribution."""
    score, weight = data.everything
    order = np.argsort(score)
    score, weight = score[order], weight[order]
    last = np.flatnonzero(np.append(np.diff(score) > 0, True))
    running = np.cumsum(weight)[last] / weight.sum()
    tail = fitted_tail(pair, score[last])
    before = np.concatenate([[0.0], running[:-1]])
    return float(max(np.abs(1 - tail - running).max(), np.abs(1 - tail - before).max()))


def fitted_tail(pair: Pair, score: Array) -> Array:
    """Share of rows at or above each score under the mixture."""
    share = pair.positive_share
    return np.asarray(
        share * np.exp(pair.foreground.log_tail(score, pair.foreground_params))
        + (1 - share) * np.exp(pair.background.log_tail(score, pair.background_params))
    )


def observed_information(pair: Pair, data: Evidence, mixture: MixtureLike) -> Information:
    """Return the observed information with the share itself as first parameter."""
    known = KnownMixture.of(mixture)
    matrix = curvature_of(pair, data, None)
    unit = np.ones(len(matrix))
    unit[0] = 1.0 / (pair.positive_share * (1.0 - pair.positive_share))
    return Information(matrix * np.outer(unit, unit), known.names, known, np.ones(len(matrix)))
