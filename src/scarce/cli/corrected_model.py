"""`scarce correct` on a model file: the same model, wrapped so that it predicts for another mix.

    m2.predict_proba(rows) = correct_prior(m.predict_proba(rows), trained_at, now_at), to the bit

The mix that the model's probabilities are for is in the file. A model that was corrected before
gets the new mix in place of the old one; nothing is corrected twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scarce.cli.output import emit, refuse_table_ending, say, show_plan
from scarce.cli.shares import Shares, own_shares, read_shares, shares_of_kept
from scarce.errors import DataError, UsageError
from scarce.results import short


def correct_model(
    path: Path,
    trained_at: Sequence[str],
    now_at: Sequence[str],
    undersample: Sequence[str],
    *,
    out: Path | None,
    force: bool,
    dry_run: bool,
    json: bool,
) -> None:
    """Read a model file, move it to another class mix, and write it to another file.

    `trained_at` is what was typed; a model that knows better refuses it.
    """
    from scarce import PriorCorrected, correct_prior, save
    from scarce.cli.scoring import load_model

    if (out is None or str(out) == "-") and not dry_run:
        raise UsageError("A corrected model needs a file of its own: --out m2.scarce")
    if out is not None:
        refuse_table_ending(out)
    loaded = load_model(path)
    classes = list(loaded.classes)
    again = isinstance(loaded.model, PriorCorrected)
    own = own_shares(loaded.model)
    before = own or read_shares(trained_at, classes, "--trained-at")
    if own is not None and trained_at:
        raise UsageError(
            f"--trained-at {trained_at[0]}: {path} itself says what share its probabilities are "
            f"for, {short(own[-1])} of {classes[-1]}, which need not be the share in its training "
            "table. Leave the option out."
        )
    if before is None:
        raise DataError(
            f"{path}: a {loaded.kind} does not say what share of events it was trained at. Give "
            "it, such as --trained-at 0.13."
        )
    after = read_shares(now_at, classes, "--now-at")
    if after is None:
        if _states_its_share(loaded.model):
            raise UsageError(
                f"--undersample: the probabilities of {path} ({loaded.kind}) are for a share that "
                "was stated, not for the mix of its rows, so that thinning these out did not move "
                "them. Give --now-at."
            )
        learnt_at = loaded.model.trained_at_.tolist() if again else before
        _, after = shares_of_kept(undersample, classes, learnt_at)
    event = str(classes[-1])
    result: dict[str, Any] = {
        "model": str(path),
        "kind": loaded.kind,
        "classes": [str(name) for name in classes],
        "trained_at": before,
        "now_at": after,
        "out": out and str(out),
    }
    if dry_run:
        show_plan(result, json=json)
        return
    model = _moved(loaded.model, after) if again else _wrapped(loaded.model, before, after)
    save(model, str(out), force=force)
    if json:
        emit(result, json=True)
        return
    say(
        f"{path}: {loaded.kind}, predicts for a share of {short(before[-1])} of {event}; {out} "
        f"predicts for {short(after[-1])}."
    )
    if len(classes) == 2:
        half = float(correct_prior([0.5], before, after)[0])
        say(f"A probability of 0.5 becomes {short(half)}.")


def _states_its_share(model: Any) -> bool:
    """Whether the class mix is one that the user stated, whatever rows the model saw."""
    model = getattr(model, "estimator_", model)
    return hasattr(model, "default_prevalence") or getattr(model, "priors", None) is not None


def _prior(model: Any, shares: Shares) -> Any:
    """Shares as `PriorCorrected` takes them: of the last of two classes, or by class."""
    return (
        shares[1] if len(shares) == 2 else dict(zip(model.classes_.tolist(), shares, strict=True))
    )


def _wrapped(model: Any, before: Shares, after: Shares) -> Any:
    """A fitted model inside a fitted `PriorCorrected`."""
    import numpy as np
    from sklearn.base import clone

    from scarce import PriorCorrected

    outer = PriorCorrected(clone(model), prior=_prior(model, after))
    outer.estimator_ = model
    outer.classes_ = np.array(model.classes_)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(outer, name, getattr(model, name))
    outer.trained_at_, outer.now_at_ = np.array(before), np.array(after)
    return outer


def _moved(model: Any, after: Shares) -> Any:
    """A `PriorCorrected` that predicts for other shares than before."""
    import numpy as np

    model.set_params(prior=_prior(model, after), kept=None, density=None, default_prevalence=0.5)
    vars(model).pop("density_", None)
    model.now_at_ = np.array(after)
    if hasattr(model, "intercept_"):
        shift = np.log(model.now_at_) - np.log(model.trained_at_)
        inner = model.estimator_.intercept_
        model.intercept_ = inner + (shift[1] - shift[0] if len(inner) == 1 else shift)
    return model
