"""ScoreMixture: two families of scores, one of events and one of all else.

    p(s) = (1 - b) p0(s) + b p1(s)          posterior g(s) = b p1(s) / p(s)        (002 eq 1, 2, 6)

DEVIATION from 002: the background starts from the bulk of the rows, not from the labelled tail,
which ends with the labels swapped on the paper's own Figure 2; families are chosen by likelihood,
which finds the true one more often than KS; a weak prior holds the ratio of standard deviations.
With `start="paper"`, `select="ks"`, `spread_prior=None` it is the printed method.

Assumes that scores of events and of other rows follow the two families; on real scores that is
false more often than not, so estimate_performance does not use it unless asked to.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from scarce.checks import (
    NONE,
    Number,
    Word,
    check_parameters,
    read_integer,
    read_labels,
    read_scores,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, Problem, UsageError
from scarce.missed.curve import Mode, PosteriorDraws, draw_posterior
from scarce.missed.digest import FEWEST_BINS, ScoreDigest
from scarce.missed.information import Information
from scarce.missed.mixture.em import (
    FLOOR,
    Evidence,
    Pair,
    curvature_of,
    log_likelihood,
    polish,
    prior_of_ratio,
    run_em,
    slope_at,
    spread_of,
    whitening,
)
from scarce.missed.mixture.families import Family, family
from scarce.missed.mixture.fitting import (
    candidates,
    digest_of_table,
    evidence_of,
    ks_distance,
    observed_information,
    rank_fits,
    why_not_identified,
)
from scarce.missed.provenance import ScoreBatch, rows_have_labels
from scarce.missed.rules import in_batch
from scarce.missed.score_table import ScoreTable
from scarce.results import FitReport

Families = str | Family | Sequence[str | Family]
PARAMETERS = {
    "start": (Word("bulk", "paper"),),
    "select": (Word("likelihood", "ks"),),
    "spread_prior": (Number(0, open_low=True), NONE),
    "bins": (Number(FEWEST_BINS, whole=True),),
    "max_iter": (Number(1, whole=True),),
}

# --- precision and recall of a fitted mixture -----------------------------------------------------
#
#   population   R = S1(t),  P = b S1 / (b S1 + (1 - b) S0)                          (002 eq 2)
#   batch        w = label where known, else posterior;  R = sum above t of w / sum of w   (6.2)


class MixtureCurve(NamedTuple):
    """Precision and recall against the threshold, from the greatest threshold down."""

    threshold: Array
    recall: Array
    precision: Array
    of: str  # "population" or "batch"


def finite(values: ArrayLike, name: str) -> Array:
    """Return finite numbers of any shape."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        raise UsageError(
            "{argument} must be finite, got {value!r}.",
            code="not-finite",
            argument=Argument(name),
            value=values,
        )
    return found


def log_tails(pair: Pair, threshold: ArrayLike) -> tuple[Array, Array]:
    """Return log S1(t) and log S0(t)."""
    at = finite(threshold, "threshold")
    return (
        np.asarray(pair.foreground.log_tail(at, pair.foreground_params)),
        np.asarray(pair.background.log_tail(at, pair.background_params)),
    )


def slope(pair: Pair, threshold: ArrayLike) -> Array:
    """Return dP/dR = (b / q)(1 - P / g), in logarithms: far tails keep their digits."""
    at = finite(threshold, "threshold")
    log_recall, log_false = log_tails(pair, at)
    log_odds = pair.theta[0]
    share = log_expit(log_odds)
    alarms = np.logaddexp(share + log_recall, log_expit(-log_odds) + log_false)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        above = log_odds + log_recall - log_false  # log P / (1 - P)
        gap = above - pair.log_odds(at)
        # 1 - P/g = (1 - P)(1 - exp(gap)) keeps its digits where P and g are both next to 1.
        size = np.maximum(gap, 0.0) + np.log(-np.expm1(-np.abs(gap))) + log_expit(-above)
        found = -np.sign(gap) * np.exp(share - alarms + size)
    found = np.where(gap == 0.0, 0.0, found)
    return np.asarray(np.where(np.isneginf(alarms), np.nan, found))


def population_curve(pair: Pair, digest: ScoreDigest, thresholds: ArrayLike | None) -> MixtureCurve:
    """Return the curve of eq 2."""
    at = _thresholds(digest, thresholds)
    log_recall, log_false = log_tails(pair, at)
    precision = expit(pair.theta[0] + log_recall - log_false)
    return MixtureCurve(at, np.exp(log_recall), np.asarray(precision), "population")


def batch_curve(pair: Pair, digest: ScoreDigest, thresholds: ArrayLike | None) -> MixtureCurve:
    """Return the curve of the rows that were fitted, with posteriors where labels are missing."""
    parts = [digest.points(state) for state in ("unlabelled", "positive", "negative")]
    events = [
        weight * share
        for (_, weight), share in zip(
            parts, (expit(pair.log_odds(parts[0][0])), 1.0, 0.0), strict=True
        )
    ]
    score = np.concatenate([part[0] for part in parts])
    order = np.argsort(-score)
    count = np.cumsum(np.concatenate([part[1] for part in parts])[order])
    found = np.cumsum(np.concatenate(events)[order])
    at = _thresholds(digest, thresholds)
    last = np.searchsorted(-score[order], -at, side="right") - 1
    seen = last >= 0
    recall = np.where(seen, found[last] / found[-1] if found[-1] > 0 else np.nan, 0.0)
    precision = np.where(seen, found[last] / count[last], np.nan)
    return MixtureCurve(at, recall, precision, "batch")


def _thresholds(digest: ScoreDigest, thresholds: ArrayLike | None) -> Array:
    if thresholds is not None:
        return np.sort(np.atleast_1d(finite(thresholds, "thresholds")))[::-1]
    score, weight = digest.points()
    order = np.argsort(-score)
    count = np.cumsum(weight[order])
    ranks = np.geomspace(1.0, count[-1], 200)
    return np.unique(score[order][np.minimum(np.searchsorted(count, ranks), len(count) - 1)])[::-1]


# --- the estimator --------------------------------------------------------------------------------


class ScoreMixture(BaseEstimator):  # type: ignore[misc]
    """A mixture of two families fitted to scores of which a part is labelled.

    Parameters
    ----------
    background : str, family, or sequence of them
        Of rows that are not events: "normal", "lognormal", "gamma", "student-t", "skew-normal".
        "auto" tries the first three; those that cannot have the scores are left out.
    foreground : str, family, or sequence of them
        Of events.
    start : {"bulk", "paper"}
        Where the fit starts: several starts with the background from the bulk of the rows; or the
        labelled rows alone, and plain EM (002 section 5).
    select : {"likelihood", "ks"}
        How the pair is chosen. Likelihood is AIC, so families of three parameters pay for it.
    spread_prior : float or None
        Standard deviation of the normal prior on log(standard deviation of events / of others).
    bins : int
        Most bins of a label state; fewer scores are kept as they are.
    max_iter : int
        Most EM steps for start="paper".
    keep_path : bool
        With start="paper", keep the parameters after every step in `path_`.
    engine : engine
        Who folds `Rows`.

    Attributes
    ----------
    positive_share_ : float
        Share of events among the rows.
    background_, foreground_ : str
    background_params_, foreground_params_ : ndarray
        Unconstrained, as the family has them.
    identified_ : bool
        Whether the fit can be trusted at all; `why_` says why not.
    ranking_ : list of RankedFit
        Every pair that was tried, best first.
    report_ : FitReport

    **Assumes** that scores follow the two families, and that rows were chosen for labelling by
    score or at random. A likelihood that is high does not make it true: see `goodness`.

    Notes
    -----
    Equal scores and few scores are kept exactly; beyond `bins` different ones a digest of the
    scores is fitted, within 0.01 standard errors of the exact answer.

    References
    ----------
    Miller, Vila, Kirn, Zipkin (2018), Classifier performance estimation with unbalanced, partially
    labeled data, PMLR 88.

    Examples
    --------
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=1)
    >>> mixture = ScoreMixture().fit(trial.scores, trial.y)
    >>> mixture.background_, round(mixture.positive_share_, 4)
    ('normal', 0.005)
    >>> round(float(mixture.recall(9.1)), 2), round(float(mixture.precision(9.1)), 2)
    (0.42, 0.29)
    """

    _runtime_params = ("engine",)
    _may_be_nonfinite = ("positive_share_",)  # nan where no mixture could be fitted

    def __init__(
        self,
        background: Families = "auto",
        foreground: Families = "normal",
        *,
        start: str = "bulk",
        select: str = "likelihood",
        spread_prior: float | None = 0.5,
        bins: int = 4096,
        max_iter: int = 5000,
        keep_path: bool = False,
        engine: Engine = None,
    ) -> None:
        self.background = background
        self.foreground = foreground
        self.start = start
        self.select = select
        self.spread_prior = spread_prior
        self.bins = bins
        self.max_iter = max_iter
        self.keep_path = keep_path
        self.engine = engine

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags

    def fit(self, scores: ArrayLike | Rows, labels: ArrayLike | None = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        scores : array-like of shape (n,), or Rows with one column
        labels : array-like of shape (n,), optional
            1 for an event, 0 for none, missing for *not labelled*. `Rows` carry their own.
        """
        refuse_other_index(scores=scores, labels=labels)
        return self._fit(self._digest(scores, labels))

    def partial_fit(self, scores: ArrayLike | Rows, labels: ArrayLike | None = None) -> Self:
        """Take in more rows and fit all that were taken in so far."""
        refuse_other_index(scores=scores, labels=labels)
        digest = self._digest(scores, labels)
        held = getattr(self, "digest_", None)
        if held is not None:
            digest = ScoreDigest.from_arrays(held).merge(digest)
        return self._fit(digest)

    def merge(self, other: ScoreMixture) -> Self:
        """Take in the rows of another mixture, of another shard or week, and fit again."""
        if not isinstance(other, ScoreMixture):
            raise UsageError(
                "other must be a fitted ScoreMixture, got a {kind}.",
                code="not-a-mixture",
                kind=type(other).__name__,
            )
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = (ScoreDigest.from_arrays(one.digest_) for one in (self, other))
        return self._fit(mine.merge(theirs))

    def _digest(self, scores: ArrayLike | Rows, labels: ArrayLike | None) -> ScoreDigest:
        self._check()
        if isinstance(scores, Rows):
            if labels is not None:
                raise rows_have_labels()
            if scores.n_columns != 1:
                raise UsageError(
                    "These rows have the columns {columns}; a mixture needs the score alone.",
                    code="score-column",
                    columns=list(scores.names),
                    remedy="Open them with open_rows(..., columns='score').",
                )
            return ScoreDigest.from_rows(scores, bins=self.bins, engine=self.engine)
        values = read_scores(scores)
        return ScoreDigest.of(values, read_labels(labels, len(values)), bins=self.bins)

    def _fit_table(self, table: ScoreTable) -> Self:
        """Fit a score table; for estimate_performance."""
        self._check()
        return self._fit(digest_of_table(table, self.bins))

    def _check(self) -> None:
        check_parameters(self, PARAMETERS)
        if self.keep_path and self.start != "paper":
            raise UsageError(
                "{keep} keeps the steps of plain EM: it needs {start}.",
                code="path-start",
                keep=Argument("keep_path", True),
                start=Argument("start", "paper"),
            )

    def _fit(self, digest: ScoreDigest) -> Self:
        begin = time.perf_counter()
        data = evidence_of(digest)
        pairs, left_out = candidates(self.background, self.foreground, digest)
        ranking = rank_fits(
            data,
            evidence_of(digest, self.bins),
            pairs,
            start=self.start,
            select=self.select,
            spread_prior=self.spread_prior,
            max_iter=self.max_iter,
            keep_path=self.keep_path,
        )
        self.digest_ = digest.to_arrays()
        self.ranking_ = [one.record for one in ranking]
        best = ranking[0] if ranking else None
        self.identified_, self.why_ = why_not_identified(best, data)
        why = Problem("Not identified: {why}.", code="not-identified", why=self.why_)
        warnings = tuple(left_out) if self.identified_ else (why, *left_out)
        if best is None:
            self.positive_share_ = float("nan")
            self.background_ = self.foreground_ = ""
            self.background_params_ = self.foreground_params_ = np.empty(0)
            self.report_ = FitReport(
                False, float("nan"), float("nan"), 0, time.perf_counter() - begin, warnings
            )
            return self
        pair = best.fitted.pair
        self.positive_share_ = pair.positive_share
        self.background_, self.foreground_ = best.record.background, best.record.foreground
        self.background_params_ = pair.background_params
        self.foreground_params_ = pair.foreground_params
        if self.keep_path:
            self.path_ = np.array(best.fitted.path)
            self.path_[:, 0] = expit(self.path_[:, 0])
        self.report_ = FitReport(
            best.converged,
            best.fitted.certificate,
            -best.fitted.objective / data.total,
            best.fitted.steps,
            time.perf_counter() - begin,
            warnings,
        )
        return self

    @property
    def _pair(self) -> Pair:
        check_is_fitted(self)
        if not self.background_:
            raise UsageError(
                "This mixture has no parameters: {why}.", code="not-identified", why=self.why_
            )
        return Pair(
            self._family("background"),
            self._family("foreground"),
            self.positive_share_,
            self.background_params_,
            self.foreground_params_,
        )

    def _family(self, part: str) -> Family:
        """The family chosen: one of ours by name, or the user's own object."""
        wanted = getattr(self, f"{part}_")
        given = getattr(self, part)
        for one in given if isinstance(given, (list, tuple)) else [given]:
            if isinstance(one, Family) and one.name == wanted:
                return one
        return family(wanted)

    def recall(self, threshold: ArrayLike) -> Array:
        """Return the share of events that score at or above the threshold: S1(t)."""
        return np.exp(log_tails(self._pair, threshold)[0])

    def false_alarm_rate(self, threshold: ArrayLike) -> Array:
        """Return the share of other rows that score at or above the threshold: S0(t)."""
        return np.exp(log_tails(self._pair, threshold)[1])

    def alarm_rate(self, threshold: ArrayLike) -> Array:
        """Return the share of all rows that score at or above the threshold."""
        share = self.positive_share_
        return share * self.recall(threshold) + (1 - share) * self.false_alarm_rate(threshold)

    def precision(self, threshold: ArrayLike) -> Array:
        """Return the share of events among rows at or above the threshold."""
        log_recall, log_false = log_tails(self._pair, threshold)
        return np.asarray(expit(self._pair.theta[0] + log_recall - log_false))

    def posterior(self, scores: ArrayLike) -> Array:
        """Return the probability that a row with exactly this score is an event (002 eq 6)."""
        return np.asarray(expit(self._pair.log_odds(finite(scores, "scores"))))

    def precision_per_recall(self, threshold: ArrayLike) -> Array:
        """Return the slope dP/dR = (P/R)(1 - P/g) at the threshold.

        -inf where precision falls without end (the posterior at the threshold is 0 and precision
        is not), NaN (undefined) where no score can lie above the threshold.
        """
        return slope(self._pair, threshold)

    def curve(self, thresholds: ArrayLike | None = None) -> MixtureCurve:
        """Return precision and recall of the population, from the two families alone."""
        return population_curve(self._pair, ScoreDigest.from_arrays(self.digest_), thresholds)

    def batch_curve(self, thresholds: ArrayLike | None = None) -> MixtureCurve:
        """Return precision and recall of the fitted rows: labels where known, else posteriors.

        What section 6.2 of the paper does to move from the population to the batch at hand.
        """
        return batch_curve(self._pair, ScoreDigest.from_arrays(self.digest_), thresholds)

    def fisher_information(self) -> Information:
        """Return the observed information of all parameters, cross terms included (002 eq 3 to 5).

        For the information of designs not yet labelled: scarce.missed.information.
        """
        data = evidence_of(ScoreDigest.from_arrays(self.digest_))
        return observed_information(self._pair, data, self)

    def goodness(self, n_draws: int = 99, *, random_state: int = 0) -> float:
        """Return the p-value of the KS distance, by drawing scores from the fit and fitting again.

        A small value says that the families are wrong, which on real scores they mostly are. It
        does not say that recall is wrong, nor does a large value say that it is right.
        """
        check_is_fitted(self)
        n_draws = read_integer(n_draws, "n_draws")
        data = evidence_of(ScoreDigest.from_arrays(self.digest_), self.bins)
        return bootstrap_ks(self._pair, data, self.spread_prior, n_draws, random_state)

    def _check_loaded(self) -> None:
        if hasattr(self, "background_") and self.background_:
            for part in ("background", "foreground"):
                found = len(getattr(self, f"{part}_params_"))
                if found != len(self._family(part).names):
                    raise ValueError(f"{part}_params_ has {found} numbers for its family")
            if not 0.0 <= self.positive_share_ <= 1.0:
                raise ValueError(f"positive_share_ is {self.positive_share_!r}")
            with np.errstate(all="ignore"):
                if not np.isfinite(self.posterior(np.zeros(1))).all():
                    raise ValueError("the parameters give no probability at score 0")


# --- draws from its posterior ---------------------------------------------------------------------
#
# The posterior is the likelihood of 002 eq 1 times the prior on the ratio of standard deviations,
# with a wide normal prior on the log odds of the share, so it exists when no event is labelled. The
# intervals cover sampling noise and assume that the families are right.


SHARE_PRIOR = (-4.0, 3.0)
FINE = 4096
MOST_DRAWN = 20_000
COARSE = 150  # bins of the unlabelled rows behind the draws


@dataclass(frozen=True, slots=True)
class MixtureDraws:
    """PosteriorDraws of a mixture for each batch."""

    pairs: tuple[Pair, ...]
    draws: tuple[PosteriorDraws, ...]
    spread_prior: float | None

    @property
    def effective_size(self) -> float:
        """The least of the batches'."""
        return min(one.effective_size for one in self.draws)

    def chance_of_distance(
        self, index: int, table: ScoreTable, n_draws: int, random_state: int
    ) -> float:
        """The p-value of one batch's KS distance."""
        data = evidence_of(digest_of_table(table, FINE), FINE)
        return bootstrap_ks(self.pairs[index], data, self.spread_prior, n_draws, random_state)

    def best_guess(self, batch: ScoreBatch, index: int, score: Array) -> Array:
        """Posterior of an event at each score under the fit itself (002 section 6.2)."""
        return np.asarray(expit(self.pairs[index].log_odds(score)))

    def share_of_events(self, batch: ScoreBatch, index: int, score: Array, place: Array) -> Array:
        """Posterior of an event at each score: (draws, scores)."""
        pair = self.pairs[index]
        return np.stack(
            [expit(pair.at(theta).log_odds(score)) for theta in self.draws[index].values]
        )


def draw_mixtures(
    batches: Sequence[ScoreBatch], families: tuple[Families, Families], rng: np.random.Generator
) -> tuple[MixtureDraws | None, list[tuple[int, Problem]]]:
    """Fit a mixture to each batch and draw from its posterior; None where one is not identified."""
    pairs: list[Pair] = []
    draws: list[PosteriorDraws] = []
    warnings: list[tuple[int, Problem]] = []
    for batch in batches:
        mixture = ScoreMixture(*families)._fit_table(batch.table)
        if not mixture.identified_:
            problem = Problem(
                "The mixture is not identified{where}: {why}.",
                code="not-identified",
                where=in_batch(batch),
                why=mixture.why_,
            )
            return None, [*warnings, (len(pairs), problem)]
        pair = mixture._pair
        data = evidence_of(digest_of_table(batch.table, COARSE), COARSE)
        drawn = _draw(pair, data, mixture.spread_prior, rng)
        pairs.append(pair)
        draws.append(drawn)
    return MixtureDraws(tuple(pairs), tuple(draws), mixture.spread_prior), warnings


def _draw(
    pair: Pair, data: Evidence, spread_prior: float | None, rng: np.random.Generator
) -> PosteriorDraws:
    floor = FLOOR * spread_of(data)
    nothing = PosteriorDraws(np.tile(pair.theta, (2, 1)), 0.0)

    def log_density(points: Array) -> Array:
        values = np.full(len(points), -np.inf)
        for row, white in enumerate(points):
            one = pair.at(pair.theta + root @ white)
            if not _sane(one, floor):
                continue
            standard = (one.theta[0] - SHARE_PRIOR[0]) / SHARE_PRIOR[1]
            values[row] = (
                log_likelihood(one, data) + prior_of_ratio(one, spread_prior) - 0.5 * standard**2
            )
        return values

    try:
        # White coordinates: units of the scores fall out, and 1 is about a standard error.
        root = whitening(slope_at(pair, data, spread_prior)[2])
        curvature = curvature_of(pair, data, spread_prior)
        curvature[0, 0] += SHARE_PRIOR[1] ** -2.0
        lengths, axes = np.linalg.eigh(root.T @ curvature @ root)
        # A direction that the data leave open gets a wide proposal, not an endless one.
        lengths = np.maximum(np.abs(lengths), 0.04)
        mode = Mode(np.zeros(len(lengths)), 0.0, (axes * lengths) @ axes.T, 0.0, 0)
        drawn = draw_posterior(log_density, mode, rng, tries=1000)
    except (np.linalg.LinAlgError, OverflowError, ZeroDivisionError):
        return nothing  # a parameter that no row holds, or draws that lie on a line
    if np.isnan(drawn.effective_size):
        return nothing
    return drawn._replace(values=pair.theta + drawn.values @ root.T)


def _sane(pair: Pair, floor: float) -> bool:
    """Events are the minority, score higher, and have a standard deviation above 0."""
    if pair.positive_share >= 0.5 or np.abs(pair.theta[0]) > 60:
        return False
    for part, params in (
        (pair.foreground, pair.foreground_params),
        (pair.background, pair.background_params),
    ):
        if np.abs(params[1:]).max() > 600 or not floor < part.spread(params) < np.inf:
            return False
    behind = pair.background.mean(pair.background_params)
    return pair.foreground.mean(pair.foreground_params) > behind


def bootstrap_ks(
    pair: Pair, data: Evidence, spread_prior: float | None, n_draws: int, random_state: int
) -> float:
    """Return the share of drawn batches whose KS distance is at least the observed one.

    Refits start at the parameters that made the batch: from the bulk start alone the distances are
    too large and the test is blind. Of long data, 20,000 rows are drawn, and distances compared
    times the root of the rows.
    """
    rng = np.random.default_rng(random_state)
    observed = ks_distance(pair, data) * np.sqrt(data.total)
    rows = round(min(data.total, MOST_DRAWN))
    cut = float(np.min(np.concatenate([data.event_score, data.other_score, [np.inf]])))
    farther = 0
    for _ in range(n_draws):
        drawn = _drawn_batch(pair, rows, cut, rng)
        start = run_em(pair, drawn, steps=5, stop=1e-9, floor=FLOOR * spread_of(drawn))
        refit = polish(start, drawn, spread_prior, FLOOR * spread_of(drawn))
        farther += ks_distance(refit.pair, drawn) * np.sqrt(rows) >= observed
    return (1.0 + farther) / (1.0 + n_draws)


def _drawn_batch(pair: Pair, total: int, cut: float, rng: np.random.Generator) -> Evidence:
    """Scores from the mixture, those at or above the lowest labelled score labelled."""
    event = rng.random(total) < pair.positive_share
    score = np.where(
        event,
        _sample(pair.foreground, pair.foreground_params, total, rng),
        _sample(pair.background, pair.background_params, total, rng),
    )
    labelled = score >= cut
    one = np.ones(total)
    states = (~labelled, labelled & event, labelled & ~event)
    return Evidence(*[part for state in states for part in (score[state], one[state])])


def _sample(family: Family, params: Array, n: int, rng: np.random.Generator) -> Array:
    """Scores by inverting the tail on a grid; the grid is far finer than any fit can see."""
    mean, spread = family.mean(params), family.spread(params)
    low = max(mean - 12 * spread, 1e-12 * mean) if family.positive_only else mean - 12 * spread
    grid = np.linspace(low, mean + 30 * spread, 20_001)
    cumulative = -np.expm1(family.log_tail(grid, params))
    return np.interp(rng.random(n), cumulative, grid)
