"""What `GaussianBayes` refuses: settings that cannot work, batches that do not fit, bad files.

Also gathers a batch into the moments kept so far, because that is where batches are refused.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_array, refuse_word
from scarce.gaussian.fitting import DIAGONAL, KINDS, used_columns
from scarce.gaussian.moments import (
    CrossMoments,
    Moments,
    among,
    class_moments,
    cross_moments,
    from_state,
    merge_cross_moments,
    merge_moments,
    moved,
    typical_values,
    value_moments,
)

NARROW = 1e-6  # of the widest class's variance: nothing that was measured, only the smoothing
OF_SOME_FITS = (
    "covariance_",
    "shrinkage_",
    "moments_",
    "unlabelled_share_",
    "reveal_rate_",
    "unlabelled_used_",
    "unlabelled_loss_",
    "log_likelihood_path_",
)


def parameters(model: Any) -> None:
    """Refuse parameters that cannot work, whatever the data."""
    refuse_word("covariance", model.covariance, KINDS)
    refuse_word("unlabelled", model.unlabelled, ("ignore", "use"))
    share = model.shrinkage
    if share != "auto" and not (_number(share) and 0.0 <= share <= 1.0):
        raise UsageError(
            f"shrinkage={share!r} is no share: give 'auto', or a number from 0 (each "
            "class its own covariance) to 1 (all the pooled one)."
        )
    if not (_number(model.var_smoothing) and model.var_smoothing >= 0):
        raise UsageError(
            f"var_smoothing={model.var_smoothing!r} is no share of a variance: give a number from "
            "0 on, such as 1e-9."
        )
    if not (_number(model.tol) and model.tol > 0):
        raise UsageError(f"tol={model.tol!r} cannot be reached: give a number above 0.")
    if not (isinstance(model.max_iter, (int, np.integer)) and model.max_iter >= 1):
        raise UsageError(f"max_iter={model.max_iter!r} is no number of passes: give 1 or more.")


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def forget(model: Any) -> None:
    """Drop what only some kinds of fit leave, before a new fit of another kind."""
    for name in OF_SOME_FITS:
        vars(model).pop(name, None)


# --- batches --------------------------------------------------------------------------------------


def takes_batches(model: Any) -> bool:
    """Say whether there is a partial_fit, in the manner of scikit-learn: by AttributeError."""
    if model.unlabelled == "use":
        raise AttributeError(
            "unlabelled='use' passes over all rows several times, so there is no partial_fit: "
            "call fit on all rows, or give unlabelled='ignore'."
        )
    return True


def may_go_on(model: Any, first: bool) -> None:
    """Refuse partial_fit where it could not equal one fit on all rows."""
    if first:
        return
    kept = getattr(model, "moments_", None)
    if kept is None:
        raise UsageError(
            "This model was fitted by passes over all rows (missing values with "
            f"covariance={model.covariance!r}, or unlabelled rows), so partial_fit has nothing "
            "to go on from: call fit on all rows, or partial_fit on a new model."
        )
    if ("scatter" in kept) == (model.covariance in DIAGONAL):
        raise UsageError(
            f"covariance={model.covariance!r} needs other moments than those kept so far: call "
            "partial_fit on a new model."
        )


def gathered(
    model: Any, rows: Rows, found: NDArray[Any], classes: Any
) -> tuple[Moments | CrossMoments, Array]:
    """Return the moments so far and those of a batch together, and their origin."""
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), model.classes_):
        raise UsageError(
            f"classes={np.asarray(classes).tolist()} are not those of the first call, "
            f"{model.classes_.tolist()}: leave classes out, or begin with a new model."
        )
    places = _places(found, model.classes_)
    kept = getattr(model, "moments_", None)
    origin = typical_values(rows)
    if model.covariance in DIAGONAL:
        batch: Any = rows.fold(class_moments, (len(found), origin), engine=model.engine)
    else:
        batch = rows.fold(cross_moments, (len(found), origin, None), engine=model.engine)
        if batch.holed.weight.any():
            raise DataError(
                f"{batch.holed.weight.sum():g} labelled rows of this batch miss some value, and "
                f"covariance={model.covariance!r} would need all rows at once for them: call fit "
                "on all rows, leave these rows out, or use covariance='diag'."
            )
    values = batch if isinstance(batch, Moments) else value_moments(batch)
    used_columns(model, values, origin, rows)  # refuses numbers that cannot be squared
    batch = among(batch, places, len(model.classes_))
    if kept is None:
        return batch, origin
    before, start = from_state(kept)
    batch = moved(batch, origin - start)
    # A class without rows keeps mean 0: it weighs nothing in the merge.
    merge = merge_moments if model.covariance in DIAGONAL else merge_cross_moments
    return merge(before, batch), start  # type: ignore[arg-type]


def _places(found: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each class of a batch among all classes."""
    known = {label: place for place, label in enumerate(classes.tolist())}
    strange = [label for label in found.tolist() if label not in known]
    if strange:
        raise DataError(
            f"y holds {strange[:5]}, which the first call of partial_fit did not name; the classes "
            f"are {classes.tolist()}. Name all of them at the first call: classes=[...]."
        )
    return np.array([known[label] for label in found.tolist()], dtype=np.intp)


# --- model files ----------------------------------------------------------------------------------


def loaded(model: Any) -> None:
    """Refuse a model file whose arrays do not belong together."""
    if not hasattr(model, "classes_"):
        return
    n_classes, width = len(model.classes_), model.n_features_in_
    shape = (n_classes, width)
    matrices = (n_classes, width, width)
    wanted: dict[str, tuple[int, ...]] = {}
    if not (hasattr(model, "moments_") and not hasattr(model, "mean_")):
        wanted = {
            "mean_": shape,
            "variance_": shape,
            "class_prior_": shape[:1],
            "used_": shape[1:],
        }
        if model.covariance not in DIAGONAL:
            wanted["covariance_"] = matrices[1:] if model.covariance == "shared" else matrices
            wanted["shrinkage_"] = shape[:1]
    for name in ("unlabelled_share_", "reveal_rate_"):
        if hasattr(model, name):
            wanted[name] = shape[:1]
    for name, size in wanted.items():
        refuse_array(name, getattr(model, name, None), size, "b" if name == "used_" else "f")
    if hasattr(model, "moments_"):
        _loaded_moments(model, shape)
    if "mean_" in wanted:
        _loaded_values(model)


def _loaded_moments(model: Any, shape: tuple[int, int]) -> None:
    sizes: dict[str, tuple[int, ...]] = {"origin": shape[1:], "weight": shape[:1], "mean": shape}
    if model.covariance in DIAGONAL:
        sizes |= {"seen": shape, "squares": shape}
    else:
        sizes["scatter"] = (*shape, shape[1])
    if not isinstance(model.moments_, dict) or set(model.moments_) != set(sizes):
        raise DataError(f"moments_ must hold {sorted(sizes)}.")
    for name, size in sizes.items():
        refuse_array(f"moments_[{name!r}]", model.moments_[name], size)


def _loaded_values(model: Any) -> None:
    if not (model.variance_ > 0).all():
        raise DataError("variance_ holds a value that is not above 0.")
    for name in ("class_prior_", "unlabelled_share_"):
        share = getattr(model, name, None)
        if share is None:
            continue
        least = 0.0 if name == "unlabelled_share_" else np.nextafter(0.0, 1.0)
        if not ((share >= least).all() and abs(share.sum() - 1.0) <= 1e-9):
            raise DataError(f"{name} holds {share.tolist()}: shares are above 0 and sum to 1.")
    if (
        hasattr(model, "shrinkage_")
        and not ((model.shrinkage_ >= 0) & (model.shrinkage_ <= 1)).all()
    ):
        raise DataError("shrinkage_ holds a value that is not from 0 to 1.")
    if model.covariance not in DIAGONAL:
        _loaded_covariances(model)


def _loaded_covariances(model: Any) -> None:
    matrices = model.covariance_ if model.covariance_.ndim == 3 else model.covariance_[None]
    diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
    if not np.allclose(np.broadcast_to(diagonal, model.variance_.shape), model.variance_, atol=0.0):
        raise DataError("variance_ is not the diagonal of covariance_.")
    scale = np.sqrt(diagonal)
    scaled = matrices / scale[:, :, None] / scale[:, None, :]
    if not np.allclose(scaled, scaled.transpose(0, 2, 1), rtol=0.0, atol=1e-9):
        raise DataError("covariance_ holds a matrix that is not symmetric.")
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        raise DataError("covariance_ holds a matrix that is no covariance.") from None


def narrow(model: Any) -> list[str]:
    """Name columns that have one value alone in some class, and others elsewhere.

    The Gaussian of such a class has no width to speak of: a row with another value is impossible.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        spread = model.variance_ / model.variance_.max(axis=0)
    which = np.flatnonzero(model.used_ & (spread.min(axis=0) <= NARROW))
    if not len(which):
        return []
    names = getattr(model, "feature_names_in_", [f"column {k}" for k in range(len(model.used_))])
    shown = ", ".join(str(names[place]) for place in which[:6])
    more = f" and {len(which) - 6} more" if len(which) > 6 else ""
    label = model.classes_[int(spread[:, which[0]].argmin())]
    return [
        f"{shown}{more}: one value alone in a class ({label!s}) and others elsewhere, so that rows "
        "with another value get a probability of 0 or 1. Leave such columns out, or use "
        "covariance='shared-diag'."
    ]
