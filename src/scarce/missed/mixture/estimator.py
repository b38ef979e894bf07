"""Two families of scores, one of events and one of all else: the paper's way to recall.

    p(s) = (1 - b) p0(s) + b p1(s)          posterior g(s) = b p1(s) / p(s)        (002 eq 1, 2, 6)

DEVIATION from 002: the background starts from the bulk of the rows, not from the labelled tail,
which ends with the labels swapped on the paper's own Figure 2; families are chosen by likelihood,
which finds the true one more often than KS; a weak prior holds the ratio of spreads. With
`start="paper"`, `select="ks"`, `spread_prior=None` it is the printed method.

Assumes that scores of events and of other rows follow the two families; on real scores that is
false more often than not, so estimate_performance does not lean on it unless asked to.
"""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from scarce.checks import read_labels, read_scores
from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import UsageError, refuse_word
from scarce.missed.digest import ScoreDigest
from scarce.missed.information import Information
from scarce.missed.mixture.families import family
from scarce.missed.mixture.fitting import (
    candidates,
    digest_of_ledger,
    evidence_of,
    observed_information,
    rank_fits,
    why_not_identified,
)
from scarce.missed.mixture.partial_em import Pair
from scarce.missed.mixture.views import (
    MixtureCurve,
    batch_curve,
    finite,
    log_tails,
    population_curve,
    slope,
)
from scarce.missed.score_table import Ledger
from scarce.results import FitReport


class ScoreMixture(BaseEstimator):  # type: ignore[misc]
    """A mixture of two families fitted to scores of which a part is labelled.

    Parameters
    ----------
    background : str, family, or sequence of them
        Of rows that are no events: "normal", "lognormal", "gamma", "student-t", "skew-normal".
        "auto" tries the first three; those that cannot have the scores are left out.
    foreground : str, family, or sequence of them
        Of events.
    start : {"bulk", "paper"}
        Where the climb starts: several starts with the background from the bulk of the rows; or
        the labelled rows alone, and plain EM (002 section 5).
    select : {"likelihood", "ks"}
        How the pair is chosen. Likelihood is AIC, so that families of three parameters pay for it.
    spread_prior : float or None
        Spread of the normal prior on log(spread of events / spread of others).
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
        Whether the fit can be believed at all; `why_` says why not.
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
        background: Any = "auto",
        foreground: Any = "normal",
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

    def fit(self, scores: Any, labels: Any = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        scores : array-like of shape (n,), or Rows with one column
        labels : array-like of shape (n,), optional
            1 for an event, 0 for none, missing for *not labelled*. `Rows` carry their own.
        """
        return self._fit(self._digest(scores, labels))

    def partial_fit(self, scores: Any, labels: Any = None) -> Self:
        """Take in more rows and fit all that were taken in so far."""
        digest = self._digest(scores, labels)
        held = getattr(self, "digest_", None)
        if held is not None:
            digest = ScoreDigest.from_arrays(held).merge(digest)
        return self._fit(digest)

    def merge(self, other: ScoreMixture) -> Self:
        """Take in the rows of another mixture, of another shard or week, and fit again."""
        if not isinstance(other, ScoreMixture):
            raise UsageError(f"merge takes a fitted ScoreMixture, not a {type(other).__name__}.")
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = (ScoreDigest.from_arrays(one.digest_) for one in (self, other))
        return self._fit(mine.merge(theirs))

    def _digest(self, scores: Any, labels: Any) -> ScoreDigest:
        self._check()
        if isinstance(scores, Rows):
            if labels is not None:
                raise UsageError(
                    "Rows carry their own labels: name them in open_rows(label=), not in fit."
                )
            if scores.n_columns != 1:
                raise UsageError(
                    f"These rows have the columns {list(scores.names)}: open_rows(..., columns="
                    "'score') with the score alone."
                )
            return ScoreDigest.from_rows(scores, bins=self.bins, engine=self.engine)
        values = read_scores(scores)
        return ScoreDigest.of(values, read_labels(labels, len(values)), bins=self.bins)

    def _fit_ledger(self, ledger: Ledger) -> Self:
        """Fit scores that are sorted out already; for estimate_performance."""
        self._check()
        return self._fit(digest_of_ledger(ledger, self.bins))

    def _check(self) -> None:
        refuse_word("start", self.start, ("bulk", "paper"))
        refuse_word("select", self.select, ("likelihood", "ks"))
        prior = self.spread_prior
        if prior is not None and not (isinstance(prior, (int, float)) and prior > 0):
            raise UsageError(
                f"spread_prior={prior!r}: give a number above 0, or None for no prior."
            )
        if not isinstance(self.max_iter, (int, np.integer)) or self.max_iter < 1:
            raise UsageError(
                f"max_iter={self.max_iter!r}: give a whole number of steps, 1 or more."
            )
        if self.keep_path and self.start != "paper":
            raise UsageError(
                "keep_path=True keeps the steps of plain EM: pass start='paper' with it."
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
        why = () if self.identified_ else (f"Not identified: {self.why_}.",)
        warnings = (*why, *left_out)
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
            raise UsageError(f"This mixture has no parameters. {self.why_}")
        return Pair(
            self._family("background"),
            self._family("foreground"),
            self.positive_share_,
            self.background_params_,
            self.foreground_params_,
        )

    def _family(self, part: str) -> Any:
        """The family chosen: one of ours by name, or the user's own object."""
        wanted = getattr(self, f"{part}_")
        given = getattr(self, part)
        for one in given if isinstance(given, (list, tuple)) else [given]:
            if getattr(one, "name", None) == wanted:
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

        A small value says that the families are false, which on real scores they mostly are. It
        does not say that recall is wrong, nor does a large value say that it is right.
        """
        from scarce.missed.mixture.draws import bootstrap_ks

        check_is_fitted(self)
        if not isinstance(n_draws, (int, np.integer)) or n_draws < 1:
            raise UsageError(f"n_draws={n_draws!r}: give a whole number of draws, such as 99.")
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
