"""Which rows should be labelled next, and with what probability is each of them chosen?

    audit        below the threshold: a band for certain, then a draw, size 1/sqrt(1 + rank/20)
    tail         the greatest scores                                      (002 section 3.1)
    random       every row alike                                          (002 section 3.1)
    stratified   every row of a stratum of ranks alike
    uncertainty  arg max of the entropy of p(y | x)                       (003 section 0.7)
    explored     a draw with probability in proportion to it, mixed with an even one
    adaptive     posterior under the fitted mixture nearest 1/2           (002 section 3.1)

Assumes that choices depend on scores and on labels seen so far, nothing else. Only audit, random,
stratified and explored labels stand for other rows too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import (
    read_labels,
    read_scores,
    read_threshold,
    refuse_length,
    whole_number,
)
from scarce.engine.block import Array
from scarce.errors import DataError, ScarceError, UsageError, refuse_word
from scarce.missed.choice import LabelChoice
from scarce.missed.draws import (
    Positions,
    allocate,
    audit_sizes,
    greatest,
    probabilities,
    ranked,
    stratum_ends,
    systematic,
)
from scarce.missed.uncertainty import uncertainty
from scarce.results import in_rows

POLICIES = ("audit", "tail", "random", "uncertainty", "adaptive", "stratified")

Drawn = tuple[Positions, Array, list[str]]  # rows, probability, policy word


def choose_labels(
    scores: ArrayLike,
    labels: Any = None,
    *,
    policy: str,
    n: int,
    threshold: float | None = None,
    random_state: int | np.random.Generator | None = None,
    by: str = "entropy",
    costs: Any = None,
    explore: float = 0.0,
    strata: int = 10,
    allocation: str = "equal",
    pure: bool = False,
    mixture: Any = None,
) -> LabelChoice:
    """Choose n rows to label, and say how likely each was to be chosen.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Greater is more suspicious. For `policy="uncertainty"` probabilities of the event, or of
        all classes with shape (n_rows, n_classes).
    labels : array-like of shape (n_rows,), optional
        1 event, 0 none, missing where there is no label yet; only those rows are chosen. None: no
        row has one. For uncertainty any value that is not missing is a label.
    policy : {"audit", "tail", "random", "stratified", "uncertainty", "adaptive"}
        "audit" if the labels are to say how many events lie below the threshold: half of n directly
        below it for certain, the others drawn deeper, ever more thinly. "tail": greatest scores.
        "random": all alike. "stratified": alike within strata of ranks that grow geometrically.
        "uncertainty": rows the model cannot decide. "adaptive": the same by a mixture fitted to the
        scores and the labels so far; call again after labelling, or use `label_in_rounds`.
    n : int
        How many. If fewer can be chosen, all of them, with a remark.
    threshold : float, optional
        Rows at or above it are alerts. Needed for audit; random and stratified then choose below
        it. The others do not look at it.
    random_state : int, Generator or None
        Seed of all lots. The same seed gives the same rows.
    by : {"entropy", "margin", "cost"}
        Uncertainty: entropy of the classes, the distance of the two likeliest (with two classes
        they agree), or what knowing the class would save in expected cost.
    costs : CostMatrix, optional
        For by="cost".
    explore : float
        Uncertainty: above 0, rows are drawn by lot instead, with probability in proportion to
        their uncertainty, of which this share is spread evenly over all rows. Such labels stand
        for other rows too: with 0 they improve the model and can never be counted.
    strata : int
        Stratified: number of strata; fewer where n or the rows are fewer.
    allocation : {"equal", "proportional"}
        Stratified: as many rows from each stratum, or in proportion to its size.
    pure : bool
        Audit without the band: all rows are drawn.
    mixture : ScoreMixture, optional
        Adaptive: the mixture to fit, with its settings.

    Returns
    -------
    LabelChoice
        `rows`, `probability`, `policy` and `remarks`; `inclusion(n_rows)` is what
        `estimate_performance` takes.

    **Assumes** that labels come back for all rows chosen. If some cannot be labelled for reasons
    that have to do with the answer, no probability mends it.

    Notes
    -----
    Ranks alone matter for audit, tail, random and stratified: any increasing function of the scores
    gives the same rows. Equal scores are put in order by lot, so that none is favoured by its place
    in the file; probabilities of an audit are those given that order. Cost: one sort of the rows
    below the threshold for audit and stratified (ten million: seconds), time in proportion to the
    rows for the others. Labels from an earlier draw are not drawn again: the new probabilities
    hold for rows still unlabelled, and the earlier ones count as certain.

    References
    ----------
    Madow (1949), Annals of Mathematical Statistics 20: systematic sampling.

    Examples
    --------
    >>> scores = np.arange(1000) / 1000
    >>> labels = np.where(scores >= 0.95, 0.0, np.nan)              # every alert was looked at
    >>> print(choose_labels(scores, labels, policy="audit", n=40, threshold=0.95, random_state=0))
    40 rows to label, of 950 that could be chosen
      band   20 rows, for certain
      audit  20 rows, with probability 0.0156 to 0.0451
    """
    refuse_word("policy", policy, POLICIES)
    wanted, generator = whole_number(n, "n"), seeded(random_state)
    explored = _share(explore, policy)
    if policy == "uncertainty":
        values = uncertainty(scores, by, costs)
        unlabelled = _without_label(labels, len(values))
    else:
        values = read_scores(scores)
        unlabelled = np.isnan(read_labels(labels, len(values)))
    below = policy == "audit" or (policy in ("random", "stratified") and threshold is not None)
    remarks = []
    if below:
        limit = _threshold(threshold)
        alerts = int(np.count_nonzero(unlabelled & (values >= limit)))
        if alerts:
            remarks.append(
                f"{alerts:,} alert{' has' if alerts == 1 else 's have'} no label yet: label "
                f"{'it' if alerts == 1 else 'them'} first or pass policy='tail'."
            )
        unlabelled &= values < limit
    candidates = int(np.count_nonzero(unlabelled))
    size = min(wanted, candidates)
    if policy == "audit":
        drawn = _audit(values, unlabelled, size, limit, pure, generator)
        if size < candidates and "audit" not in drawn[2]:
            remarks.append(
                f"n={wanted} leaves no row for the random part, and so no limit on what lies "
                "deeper: ask for 2 rows or more, or pass pure=True."
            )
    else:
        pool = np.flatnonzero(unlabelled)
        if candidates == 0:
            drawn = pool, np.empty(0), []
        elif policy == "random":
            drawn = _random(pool, size, generator)
        elif policy == "stratified":
            drawn = _stratified(values, pool, size, strata, allocation, generator)
        elif policy == "uncertainty" and explored > 0:
            drawn = _explored(values[pool], pool, size, explored, generator)
        elif policy == "adaptive":
            posterior, doubts = _posterior(values, read_labels(labels, len(values)), pool, mixture)
            remarks += doubts
            drawn = _most(-np.abs(posterior - 0.5), pool, size, policy, generator)
        else:
            drawn = _most(values[pool], pool, size, policy, generator)
    rows, probability, words = drawn
    if size < wanted:
        remarks.insert(0, _too_few(wanted, candidates, below))
    return LabelChoice(
        rows, probability, np.array(words, dtype=str), wanted, candidates, tuple(remarks)
    )


def _audit(
    scores: Array,
    candidate: NDArray[np.bool_],
    n: int,
    threshold: float,
    pure: bool,
    generator: np.random.Generator,
) -> Drawn:
    """Band directly below the threshold, then a systematic draw in score order."""
    below = np.flatnonzero(scores < threshold)
    below = below[ranked(scores[below], generator)]
    rank = np.flatnonzero(candidate[below])  # rows between the threshold and each candidate
    below = below[rank]
    band = n if n == len(below) else 0 if pure else (n + 1) // 2
    chance = probabilities(audit_sizes(rank[band:]), n - band) if band < n else np.empty(0)
    places, probability = _working_order(systematic(chance, generator), chance, generator)
    return (
        np.concatenate([below[:band], below[band:][places]]),
        np.concatenate([np.ones(band), probability]),
        ["band"] * band + ["audit"] * len(places),
    )


def _random(pool: Positions, n: int, generator: np.random.Generator) -> Drawn:
    rows = pool[generator.choice(len(pool), n, replace=False)]
    return rows, np.full(n, n / len(pool)), ["random"] * n


def _stratified(
    scores: Array,
    pool: Positions,
    n: int,
    strata: int,
    allocation: str,
    generator: np.random.Generator,
) -> Drawn:
    refuse_word("allocation", allocation, ("equal", "proportional"))
    pool = pool[ranked(scores[pool], generator)]
    ends = stratum_ends(len(pool), n, whole_number(strata, "strata"))
    starts = np.concatenate([[0], ends[:-1]])
    taken = allocate(n, ends - starts, allocation)
    places = np.concatenate(
        [
            start + generator.choice(end - start, count, replace=False)
            for start, end, count in zip(starts, ends, taken, strict=True)
        ]
    )
    chance = np.repeat(taken / (ends - starts), ends - starts)
    places, probability = _working_order(places, chance, generator)
    return pool[places], probability, ["stratified"] * n


def _explored(
    values: Array, pool: Positions, n: int, explore: float, generator: np.random.Generator
) -> Drawn:
    """Draw by size in order of uncertainty, so that rows of every degree are among them."""
    order = ranked(values, generator)
    size = values[order]
    size = size / size.sum() if size.sum() > 0 else np.zeros(len(size))
    chance = probabilities((1.0 - explore) * size + explore / len(size), n)
    places, probability = _working_order(systematic(chance, generator), chance, generator)
    return pool[order[places]], probability, ["explored"] * n


def _share(explore: Any, policy: str) -> float:
    if isinstance(explore, bool) or not isinstance(explore, (int, float, np.number)):
        explore = -1.0
    if not 0 <= explore <= 1:
        raise UsageError(f"explore={explore!r} is not a share: give a number from 0 to 1.")
    if explore > 0 and policy != "uncertainty":
        raise UsageError(
            f"explore={explore!r} is for policy='uncertainty', and here policy={policy!r}: audit, "
            "random and stratified are draws by lot already."
        )
    return float(explore)


def _working_order(
    places: Positions, chance: Array, generator: np.random.Generator
) -> tuple[Positions, Array]:
    """Certain rows first, in score order; the others by lot, so that work may stop early."""
    sure = chance[places] == 1
    places = np.concatenate([np.sort(places[sure]), generator.permutation(places[~sure])])
    return places, chance[places]


def _most(
    values: Array, pool: Positions, n: int, policy: str, generator: np.random.Generator
) -> Drawn:
    places, probability = greatest(values, n, generator)
    return pool[places], probability, [policy] * n


def _posterior(
    scores: Array, labels: Array, pool: Positions, mixture: Any
) -> tuple[Array, list[str]]:
    """Posterior of each candidate under a mixture of all scores and the labels so far."""
    from sklearn.base import clone

    from scarce.missed.mixture.estimator import ScoreMixture

    if mixture is None:
        mixture = ScoreMixture()
    elif isinstance(mixture, type) or not all(
        hasattr(mixture, part) for part in ("fit", "posterior", "get_params")
    ):
        what = mixture.__name__ if isinstance(mixture, type) else type(mixture).__name__
        kind = "the class" if isinstance(mixture, type) else "of the type"
        raise UsageError(
            f"mixture is {kind} {what}, which cannot be fitted to scores: pass a mixture with its "
            "settings, such as mixture=ScoreMixture(background='normal'), or leave it out."
        )
    model = clone(mixture).fit(scores, labels)
    first = (
        "choose the first labels with policy='tail' or 'audit', and go on with policy='adaptive'."
    )
    try:
        posterior = np.asarray(model.posterior(scores[pool]), dtype=np.float64)
    except ScarceError as error:
        why = getattr(model, "why_", error)
        raise DataError(f"The mixture gives no posterior ({why}): {first}") from error
    if np.isnan(posterior).any():
        raise DataError(
            f"The mixture gives no posterior for {in_rows(int(np.isnan(posterior).sum()))}: {first}"
        )
    doubts = []
    if not getattr(model, "identified_", True):
        doubts.append(f"The mixture is not to be believed yet ({model.why_}): label more rows.")
    return posterior, doubts


def _without_label(labels: Any, n_rows: int) -> NDArray[np.bool_]:
    """Which rows have no label, whatever the classes are called."""
    if labels is None:
        return np.ones(n_rows, dtype=bool)
    refuse_length(labels, n_rows, "labels", "a missing value where a row has none")
    hidden = np.ma.getmaskarray(labels).ravel() if np.ma.isMaskedArray(labels) else False
    if hasattr(labels, "to_pylist"):  # Arrow
        labels = labels.to_pylist()
    elif hasattr(labels, "to_numpy"):
        labels = labels.to_numpy()
    # A list of words and a NaN must not become text: NumPy would write the NaN as a word.
    held = np.array(labels, dtype=object if isinstance(labels, (list, tuple)) else None).ravel()
    if held.dtype.kind in "fMm":
        return np.asarray(hidden | (held != held))
    if held.dtype.kind == "U" and (held == "nan").any():
        raise DataError(
            f"labels holds the word 'nan' at row {int(np.argmax(held == 'nan')):,}, which NumPy "
            "makes of a missing value among words: pass a list, or an array of dtype object."
        )
    if held.dtype != object:
        return np.zeros(n_rows, dtype=bool) | hidden
    return hidden | np.array([_missing(value) for value in held], dtype=bool)


def _missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def seeded(random_state: Any) -> np.random.Generator:
    """Return the generator of all lots."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise UsageError(
            f"random_state={random_state!r} is no seed: give a whole number from 0 on, a NumPy "
            "Generator or None."
        ) from None


def _threshold(threshold: Any) -> float:
    if threshold is None:
        raise UsageError(
            "threshold=None, but an audit looks below a threshold: pass threshold=, the score from "
            "which a row is an alert."
        )
    return read_threshold(threshold, [None])[0]


def _too_few(wanted: int, candidates: int, below: bool) -> str:
    where = " below the threshold" if below else ""
    if candidates == 0:
        return f"There is no row without a label{where}: nothing was chosen."
    one = candidates == 1
    return (
        f"{in_rows(wanted)} were asked for and {candidates:,} without a label "
        f"{'is' if one else 'are'} there{where}: {'it was' if one else 'all of them were'} "
        "chosen, for certain."
    )
