"""What a maxent model looks like from outside: curves, importance, extrapolation, other outputs.

Coefficients of hinges are not unique, the curve of each variable is: `response_curve` returns it as
data. `extrapolation` says how far a row lies from the pool that was learnt from. `output` has the
raw, logistic and cloglog scales of Maxent. Everything is data; pictures are in `scarce.plots`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from scarce.engine.block import Array, Block
from scarce.errors import DataError, UsageError, refuse_word, suggest
from scarce.io.inputs import label_codes
from scarce.maxent.coded import code_cells, shape_of, tilt_of
from scarce.maxent.feature_map import FeatureMap
from scarce.maxent.inputs import (
    model_lines,
    predict_rows,
    stored_axes,
    tilts,
)
from scarce.maxent.knots import QUANTILES
from scarce.maxent.parts import Parts


@dataclass(frozen=True, eq=False)
class ResponseCurve:
    """How the model's answer changes with one variable.

    Parameters
    ----------
    variable : str
    x : ndarray of shape (n,)
        Values of the variable, the knots among them; codes of a category.
    tilt : ndarray of shape (n,)
        Log of the density ratio that the variable adds, up to a constant, other variables at their
        pool means where products join them.
    prob : ndarray of shape (n,)
        Probability of the class with every other variable missing.
    missing : float
        The probability of a row with no value at all.
    """

    variable: str
    x: Array
    tilt: Array
    prob: Array
    missing: float


@dataclass(frozen=True, eq=False)
class Importance:
    """What is lost when one variable's values are shuffled over the rows.

    Parameters
    ----------
    variables : list of str
    auc_drop, gain_drop : ndarray of shape (n_variables, n_repeats)
        Loss in AUC (labelled rows against the pool) and in mean log density at labelled rows.
    auc, gain : float
        Before shuffling.
    """

    variables: list[str]
    auc_drop: Array
    gain_drop: Array
    auc: float
    gain: float

    def ranked(self) -> list[tuple[str, float, float]]:
        """Return variable, mean loss of gain and its standard error over repeats, worst first."""
        mean = self.gain_drop.mean(axis=1)
        repeats = self.gain_drop.shape[1]
        error = self.gain_drop.std(axis=1, ddof=1 if repeats > 1 else 0) / np.sqrt(repeats)
        order = np.argsort(-mean, kind="stable")
        return [(self.variables[i], float(mean[i]), float(error[i])) for i in order]


class MaxentViews:
    """Methods of MaxentClassifier that look at a fitted model."""

    def output(self, X: Any, kind: str = "cloglog") -> Array:
        """Return predictions on a scale that Maxent users know, for the one labelled class.

        Parameters
        ----------
        X : array-like of shape (n, k), table, or Rows
        kind : {"raw", "logistic", "cloglog"}
            "raw": share of the class's density; over the pool, weight * raw sums to 1. "logistic":
            the probability at default_prevalence (000 eq 8). "cloglog": 1 - exp(-exp(tilt)), the
            chance of at least one record where typical places have one on average.
        """
        refuse_word("kind", kind, ("raw", "logistic", "cloglog"))
        check_is_fitted(self)
        model: Any = self
        if model.objective_ != "entropy":
            raise UsageError(
                "raw, logistic and cloglog are scales of a density, and objective='robust' models "
                "probabilities. Use predict_proba, or objective='entropy'."
            )
        position = self._only_class()
        tilt = tilts(self, X)[:, 0]
        if kind == "raw":
            return np.asarray(np.exp(tilt - model.log_partition_[0]) / model.pool_weight_)
        if kind == "logistic":
            default = model.default_[position]
            return np.asarray(expit(np.log(default) - np.log1p(-default) + tilt))
        return np.asarray(-np.expm1(-np.exp(tilt)))

    def extrapolation(self, X: Any) -> tuple[Array, NDArray[Any]]:
        """Return how well the pool covers each row, and by which variable it is covered least.

        The score is 100 in the middle of the pool, 0 at its edge and negative beyond: -50 means
        that a variable lies half the pool's range outside it. A value that many rows share counts
        from the middle of these rows. A code that was not in the pool gives -100, as does another
        value than the only one of a constant column, and any value of a column that was empty; an
        unknown text level counts as missing. Missing values do not count; a row without values gets
        NaN and "".
        """
        check_is_fitted(self)
        model: Any = self
        space = stored_axes(self)
        params = (model.pool_quantiles_, model.is_category_, model.knots_)
        both = predict_rows(self, X).map(block_coverage, params, engine=model.engine)
        names = np.array([*(axis.name for axis in space.axes), ""], dtype=object)
        return np.ascontiguousarray(both[:, 0]), names[both[:, 1].astype(np.intp)]

    def response_curve(self, variable: Any, *, label: Any = None, n: int = 200) -> ResponseCurve:
        """Return the curve of one variable.

        Parameters
        ----------
        variable : str or int
            Name or position.
        label : class, optional
            Which labelled class, where there are several.
        n : int
            Evenly spaced values; knots and quantiles of the pool are added.
        """
        check_is_fitted(self)
        if not isinstance(n, (int, np.integer)) or n < 2:
            raise UsageError(f"n={n!r}: give a whole number of values, at least 2.")
        model: Any = self
        space = stored_axes(self)
        column = self._column(variable, space)
        at, position = self._labelled_class(label)
        axis = space.axes[column]
        x = axis.knots
        if not axis.category:
            x = np.union1d(np.linspace(x[0], x[-1], n), x)
            known = model.pool_quantiles_[column]
            x = np.union1d(x, known[np.isfinite(known)])
        alone = np.full((len(x) + 1, len(space.axes)), np.nan)
        alone[:-1, column] = x
        shape, lines = shape_of(space), model_lines(self)[at]
        cells = code_cells(alone, space, clamp=True)
        scores = np.tile(model.offset_[:, None], len(x) + 1)
        for own, of_class in zip(
            model_lines(self), np.flatnonzero(model.is_labelled_), strict=True
        ):
            scores[of_class] += tilt_of(cells, shape, own, np.empty(len(x) + 1))
        prob = softmax(scores, axis=0)[position]
        curve = scores[position, :-1] - model.offset_[position]
        if lines.bend.size:  # products: the other variables at their mean place in the pool
            places = space.place_lines
            cell = space.first_cell[column] + cells.codes[column, :-1]
            own = places[0][cell] + places[1][cell] * cells.rest[column, :-1]
            both = lines.bend + lines.bend.T
            np.fill_diagonal(both, 0.0)
            curve += own * (both[column] @ model.pool_place_)
        return ResponseCurve(axis.name, x, curve, prob[:-1], float(prob[-1]))

    def permutation_importance(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        label: Any = None,
        n_repeats: int = 5,
        random_state: int | None = None,
    ) -> Importance:
        """Return what the model loses when each variable in turn is shuffled over all rows.

        Parameters
        ----------
        X, y : array-like
            As for fit: labelled rows of the class against all rows. y is None for `Rows`, which
            carry their labels and weights.
        sample_weight : array-like of shape (n,), optional
            Weight 2 is a row twice.
        label : class, optional
            Which labelled class, where there are several.
        n_repeats : int
            Shuffles of each variable.
        random_state : int, optional
        """
        from sklearn.metrics import roc_auc_score  # heavy, and needed here alone

        check_is_fitted(self)
        model: Any = self
        if not isinstance(n_repeats, (int, np.integer)) or n_repeats < 1:
            raise UsageError(f"n_repeats={n_repeats!r}: give a whole number above 0.")
        at, position = self._labelled_class(label)
        rows = predict_rows(self, X)
        values = np.concatenate([block.X for block in rows.blocks()])
        wanted = model.classes_[position]
        weight = np.ones(len(values))
        if y is None:
            listed = list(rows.classes)
            codes, weight = rows.labels(engine=model.engine), rows.weights(engine=model.engine)
        else:
            codes, found = label_codes(y, len(values))
            listed = found.tolist()
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, values, ensure_non_negative=True)
        chosen = (codes == (listed.index(wanted) if wanted in listed else -1)) & (weight > 0)
        if not chosen.any():
            raise DataError(
                f"None of the {len(values)} rows is labelled {wanted!s}. Pass the labels that the "
                "model was fitted with, or others of the same kind."
            )
        space, lines = stored_axes(self), model_lines(self)[at]
        shape = shape_of(space)
        cells = code_cells(values, space, clamp=bool(model.clamp))
        rng = np.random.default_rng(random_state)
        truth = np.arange(int(chosen.sum()) + cells.n) < chosen.sum()

        def scores(codes: Any, rest: Any) -> tuple[float, float]:
            tilt = tilt_of(type(cells)(codes, rest), shape, lines, np.empty(cells.n))
            log_mean = logsumexp(tilt, b=weight) - np.log(weight.sum())
            both = np.concatenate([tilt[chosen], tilt])
            auc = roc_auc_score(truth, both, sample_weight=np.append(weight[chosen], weight))
            return float(auc), float(np.average(tilt[chosen], weights=weight[chosen]) - log_mean)

        auc, gain = scores(*cells)
        auc_drop, gain_drop = np.zeros((2, len(space.axes), n_repeats))
        for column in range(len(space.axes)):
            for repeat in range(n_repeats):
                order = rng.permutation(cells.n)
                segment, rest = cells.codes.copy(), cells.rest.copy()
                segment[column], rest[column] = segment[column, order], rest[column, order]
                worse = scores(segment, rest)
                auc_drop[column, repeat] = auc - worse[0]
                gain_drop[column, repeat] = gain - worse[1]
        names = [axis.name for axis in space.axes]
        return Importance(names, auc_drop, gain_drop, auc, gain)

    # --- what the views share ---------------------------------------------------------------------

    def _keep_views(self, parts: Parts) -> None:
        """Keep quantiles and mean places of the pool: what the views need of the data."""
        model: Any = self
        space = parts.space
        model.pool_quantiles_ = parts.seen_of_columns.quantiles
        every = parts.every
        start, slope = space.place_lines
        first = space.first_cell[:-1]
        place = np.add.reduceat(every.mass * start + every.rest * slope, first)
        seen = np.add.reduceat(every.mass * space.seen_cells, first)
        model.pool_place_ = np.where(seen > 0, place / np.where(seen > 0, seen, 1.0), 0.0)

    def _column(self, variable: Any, space: FeatureMap) -> int:
        names = [axis.name for axis in space.axes]
        if variable in names:
            return names.index(variable)
        if isinstance(variable, (int, np.integer)) and 0 <= variable < len(names):
            return int(variable)
        raise UsageError(
            f"variable={variable!r} is not a column.{suggest(str(variable), names)} Columns are "
            f"{', '.join(map(repr, names[:8]))}."
        )

    def _only_class(self) -> int:
        check_is_fitted(self)
        model: Any = self
        own = np.flatnonzero(model.is_labelled_)
        if len(own) != 1:
            raise UsageError(
                f"raw, logistic and cloglog are for one labelled class, and {len(own)} have "
                "labels. Use predict_proba or density_ratio."
            )
        return int(own[0])

    def _labelled_class(self, label: Any) -> tuple[int, int]:
        """Return the class's position among the labelled ones, and among all."""
        model: Any = self
        own = model.classes_[model.is_labelled_].tolist()
        if label is None and len(own) > 1:
            label = own[-1]
        if label is not None and label not in own:
            raise UsageError(f"label={label!r} has no labels; these have: {own!r}.")
        at = 0 if label is None else own.index(label)
        return at, int(np.flatnonzero(model.is_labelled_)[at])


def block_coverage(block: Block, params: tuple[Array, NDArray[np.bool_], list[Array]]) -> Array:
    """Kernel: the least coverage of each row over its variables, and which variable that is."""
    quantiles, is_category, knots = params
    n, k = block.X.shape
    score = np.full((n, k + 1), np.nan)
    for v in range(k):
        x = block.X[:, v]
        if is_category[v]:
            known = np.isin(x, knots[v])
            score[:, v] = np.where(np.isnan(x), np.nan, np.where(known, 100.0, -100.0))
            continue
        low, high = quantiles[v][0], quantiles[v][-1]
        if not low < high:  # one value, or none
            known = np.where(x == low, 100.0, -100.0)
            score[:, v] = np.where(np.isnan(x), np.nan, known)
            continue
        values, place = np.unique(quantiles[v], return_inverse=True)
        middle = np.bincount(place, weights=QUANTILES) / np.bincount(place)
        below = np.interp(x, values, middle)
        inside = 200.0 * np.minimum(below, 1.0 - below)
        outside = 100.0 * np.minimum(x - low, high - x) / (high - low)
        score[:, v] = np.where((x < low) | (x > high), outside, inside)
    filled = np.where(np.isnan(score), np.inf, score)
    filled[:, k] = 1e300  # no variable at all
    worst = filled.argmin(axis=1)
    value = filled[np.arange(n), worst]
    return np.column_stack([np.where(worst == k, np.nan, value), worst])
