"""From what users pass to maxent to coded rows, and from a stored model back to tilts.

Arrays keep float32; tables with text or category columns become rows with code books; `Rows` come
as they are. A stored model is knots and lines: it needs no feature map to predict. At prediction a
level that was not there to learn from counts as missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, _num_samples

from scarce.engine.block import Array, Block
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_array, refuse_word
from scarce.io.inputs import label_codes, rows_to_fit, rows_to_predict, weight_factor
from scarce.io.open import open_rows
from scarce.io.profile import profile_rows
from scarce.io.schema import unmasked_weights
from scarce.maxent.axes import Axis
from scarce.maxent.coded import code_cells, shape_of, tilt_of
from scarce.maxent.feature_map import FeatureMap, Lines

PIECE = 16_384  # rows coded and looked up at once
FLOATS = [np.float64, np.float32]


def fit_rows(
    model: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Rows, NDArray[Any], Array, Array, Any]:
    """Return rows, classes found, class positions (NaN = not labelled), weights and float type."""
    for name in ("schema_", "feature_names_in_"):
        model.__dict__.pop(name, None)
    if hasattr(X, "columns") and len(set(map(str, X.columns))) < X.shape[1]:
        raise DataError(
            f"Column names repeat among {list(map(str, X.columns))[:8]}: give each its own."
        )
    if not isinstance(X, Rows) and has_text(X):
        rows = open_rows(X, categories=coded_columns(X), engine=model.engine)
        if y is None:
            raise DataError(
                f"{type(model).__name__} requires y to be passed, but the target y is None. Pass "
                "labels; rows that are not labelled are NaN or None in it."
            )
        model.n_features_in_ = rows.n_columns
        model.feature_names_in_ = np.array(rows.names, dtype=object)
        model.schema_ = rows.schema.to_dict()
        model.data_fingerprint_ = rows.fingerprint
        model.column_profile_ = profile_rows(rows, engine=model.engine)
        codes, classes = label_codes(y, len(rows))
        weight = np.ones(len(rows))
        if sample_weight is not None:
            weight = _check_sample_weight(
                unmasked_weights(sample_weight), codes, ensure_non_negative=True
            )
        return rows, classes, codes, np.asarray(weight), np.float64
    rows, classes = rows_to_fit(model, X, y, sample_weight, engine=model.engine, dtype=FLOATS)
    label, weight = rows.labels(engine=model.engine), rows.weights(engine=model.engine)
    held = getattr(rows, "_X", None)
    dtype = held.dtype if isinstance(held, np.ndarray) and held.dtype in FLOATS else np.float64
    return rows, classes, label, weight, dtype


def label_weight(weight: Array, label: Array, kind: str) -> tuple[Array, list[str]]:
    """Return the weight of each row as a labelled row, and remarks.

    With kind "survey" the labelled rows of a class weigh (sum w)^2 / sum w^2 together, Kish's
    effective number of rows: the variance of their weighted mean is that of so many rows.
    """
    known = ~np.isnan(label)
    _, said = weight_factor(float(weight[known].sum()), int(known.sum()), kind)
    if kind == "frequency":
        return weight, said
    out = np.array(weight, dtype=np.float64)
    for one in np.unique(label[known]):
        own = label == one
        share = weight[own] / weight[own].max()
        out[own] = share * (share.sum() / (share @ share))
    return out, said


def labels_to_score(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array]:
    """Return each row's position among the classes that were learnt (else NaN), and its weight."""
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise UsageError(
                "Rows carry their own labels and weights: name them in open_rows(label=, weight=), "
                "not in score."
            )
        codes, weight = X.labels(engine=model.engine), X.weights(engine=model.engine)
        found: list[Any] = list(X.classes)
    else:
        if y is None:
            raise DataError("score needs labels: pass y, NaN where a row is not labelled.")
        codes, classes = label_codes(y, _num_samples(X))
        found = classes.tolist()
        weight = np.ones(len(codes))
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, codes, ensure_non_negative=True)
    learnt = model.classes_[model.is_labelled_].tolist()
    place = np.array([learnt.index(one) if one in learnt else np.nan for one in found])
    position = np.full(len(codes), np.nan)
    known = ~np.isnan(codes)
    position[known] = place[codes[known].astype(np.intp)]
    return position, weight


def has_text(X: Any) -> bool:
    """Whether a table has columns that are not numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> has_text(np.zeros((2, 1))), has_text(pa.table({"soil": ["clay", "sand"]}))
    (False, True)
    """
    if hasattr(X, "schema") and hasattr(X, "column_names"):  # Arrow
        return True
    kinds = getattr(X, "dtypes", None)
    if kinds is None or not hasattr(X, "columns"):
        return False
    listed = list(kinds.values()) if isinstance(kinds, dict) else list(kinds)
    for kind in listed:
        if hasattr(kind, "is_numeric"):  # polars
            if not kind.is_numeric():
                return True
        elif getattr(kind, "kind", "O") not in "biuf":
            return True
    return False


def coded_columns(X: Any) -> list[str]:
    """Return the columns of a table that are categories by type, whatever their levels are."""
    kinds = getattr(X, "dtypes", ())
    names = getattr(X, "columns", ())
    if len(kinds) != len(names):
        return []
    pairs = kinds.items() if isinstance(kinds, dict) else zip(names, kinds, strict=True)
    return [str(name) for name, kind in pairs if type(kind).__name__ == "CategoricalDtype"]


def predict_rows(model: Any, X: Any) -> Rows:
    """Return rows with the columns that the model was fitted on."""
    if hasattr(X, "columns") and X.shape[0] == 0:
        raise DataError("There are no rows to predict: the table is empty.")
    return rows_to_predict(model, X, engine=model.engine, dtype=FLOATS, unknown="missing")


def stored_axes(model: Any) -> FeatureMap:
    """Return the axes of a fitted model, as a map without features."""
    names = getattr(model, "feature_names_in_", None)
    scales = getattr(model, "scales_", model.knots_)  # older model files have knots alone
    axes = []
    for at, (knots, scale) in enumerate(zip(model.knots_, scales, strict=True)):
        name = f"x{at}" if names is None else str(names[at])
        axes.append(Axis(name, knots, category=bool(model.is_category_[at]), scale=scale))
    second = model.bend_.size > 0
    return FeatureMap(axes, [], [(0, 0)] if second else [])


def model_lines(model: Any) -> list[Lines]:
    """Return the tilt of each labelled class, as it is looked up."""
    return [
        Lines(*parts)
        for parts in zip(model.start_, model.slope_, model.bend_, model.bend_seen_, strict=True)
    ]


def tilts(model: Any, X: Any) -> Array:
    """Return the tilt of each labelled class, shape (n, labelled classes)."""
    params = (stored_axes(model), model_lines(model), bool(model.clamp))
    return np.asarray(predict_rows(model, X).map(block_tilts, params, engine=model.engine))


def block_tilts(block: Block, params: tuple[FeatureMap, list[Lines], bool]) -> Array:
    """Kernel: the tilt of each labelled class."""
    space, lines, clamp = params
    shape = shape_of(space)
    out = np.empty((len(block), len(lines)))
    for first in range(0, len(block), PIECE):
        part = slice(first, first + PIECE)
        cells = code_cells(block.X[part], space, clamp=clamp)
        for at, own in enumerate(lines):
            out[part, at] = tilt_of(cells, shape, own, np.empty(cells.n))
    return out


def check_stored(model: Any) -> None:
    """Refuse a model whose parts do not belong together."""
    n, k = len(model.classes_), model.n_features_in_
    if len(model.knots_) != k or len(model.is_category_) != k:
        raise DataError(f"knots_ are not those of {k} columns.")
    cells = sum(
        len(one) + bool(at) for one, at in zip(model.knots_, model.is_category_, strict=True)
    )
    refuse_array("is_labelled_", model.is_labelled_, (n,), "b")
    own = int(model.is_labelled_.sum())
    shapes = {
        "offset_": (n,),
        "class_prior_": (n,),
        "log_partition_": (own,),
        "start_": (own, cells),
        "slope_": (own, cells),
    }
    pair = (own, k, k) if model.bend_.size else (own, 0, 0)
    for name, shape in (shapes | {"bend_": pair, "bend_seen_": pair}).items():
        refuse_array(name, getattr(model, name), shape)
    for knots, category in zip(model.knots_, model.is_category_, strict=True):
        ordered = np.diff(knots) > 0
        if knots.ndim != 1 or not (ordered.all() or (len(knots) == 2 and not category)):
            raise DataError("knots_ are not increasing.")
    for knots, scale in zip(model.knots_, getattr(model, "scales_", model.knots_), strict=True):
        refuse_array("scales_", scale, knots.shape)
        flat = len(knots) < 2 or knots[0] == knots[-1]
        if (np.diff(scale) < 0).any() or not (flat or scale[-1] > scale[0]):
            raise DataError("scales_ are not increasing.")


def pool_weight(given: Any, n_rows: int, labelled: NDArray[np.bool_]) -> Array:
    """Return the weight of each row in the pool, above 0 where a row is labelled."""
    try:
        weight = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        weight = np.zeros(0)
    if weight.shape != (n_rows,):
        raise DataError(
            f"background_weight is not one number for each of {n_rows} rows (shape "
            f"{np.shape(given)}). Give a list or array of {n_rows} weights."
        )
    wrong = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if len(wrong):
        raise DataError(
            f"background_weight is {weight[wrong[0]]:g} in row {wrong[0]} ({len(wrong)} such rows):"
            " weights are numbers of at least 0. Leave those rows out, or give them 0."
        )
    none = np.flatnonzero(labelled & (weight == 0))
    if len(none):
        raise DataError(
            f"background_weight is 0 for {len(none)} labelled rows (first: row {none[0]}), but "
            "labelled rows belong to the pool: without them their mean may be out of its reach. "
            "Give them a weight above 0."
        )
    return weight


def check_settings(model: Any) -> None:
    """Refuse parameters that cannot work, whatever the data are."""
    refuse_word("objective", model.objective, ("entropy", "robust"))
    refuse_word("weighting", model.weighting, ("entropy", "default"))
    if model.objective == "robust" and model.weighting != "entropy":
        raise UsageError(
            f"weighting={model.weighting!r} has no meaning with objective='robust', where shares "
            "are part of the fit. Leave it out, or give prevalence=."
        )
    width = 1.0 if isinstance(model.width_scale, str) else model.width_scale
    if model.width_scale != "auto" and (
        isinstance(model.width_scale, str) or not _number(width) or not 0 <= width < np.inf
    ):
        raise UsageError(
            f"width_scale={model.width_scale!r}: give a number of at least 0, or 'auto'."
        )
    if not _whole(model.knots) or not 2 <= model.knots <= 60_000:
        raise UsageError(f"knots={model.knots!r}: give a whole number from 2 to 60000.")
    if not _number(model.tol) or not 0 < model.tol < np.inf:
        raise UsageError(f"tol={model.tol!r}: give a number above 0, such as 1e-6.")
    if not _whole(model.max_passes) or model.max_passes < 1:
        raise UsageError(f"max_passes={model.max_passes!r}: give a whole number above 0.")
    if not isinstance(model.clamp, (bool, np.bool_)):
        raise UsageError(f"clamp={model.clamp!r}: give True or False.")
    if model.progress is not None and not callable(model.progress):
        raise UsageError(
            f"progress={model.progress!r} cannot be called. Give a function of (done, total)."
        )


def _number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
