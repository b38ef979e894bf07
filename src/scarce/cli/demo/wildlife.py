"""Wildlife: sightings without absences, reported at an unknown rate, with holes in the features.

    p(lives | x) = 0.9 exp(-((temperature - 18) / 5)^2) expit((rain - 600) / 100) (1 + 3 forest) / 4

A place without a sighting is not a place without the animal. Maxent learns where it is likelier;
how common it is, a small survey has to say. The rivals take "not reported" for "absent" and fill
holes with means. Assumes that a sighting is reported whatever the place, and that values go missing
by accident. Uses the truth only to compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scarce.cli.demo.story import Check, Story, aligned, first_line, say_wrapped
from scarce.cli.output import write_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scarce.cli.demo.story import Folder
    from scarce.report import Report

FILES = ("sightings.csv",)
NEXT = ("scarce fit sightings.csv --label seen --drop site --model maxent -o w.scarce",)
NAMES = ("temperature", "rain", "forest", "slope")
REPORTED = 0.2  # of the places where the animal lives; nobody in the story knows it
HOLES = 0.25
SURVEYED = 300  # places drawn at random and searched, to learn how common the animal is


@dataclass(frozen=True)
class Places:
    """Places with holes in what is known of them, and the truth about the animal."""

    X: NDArray[Any]
    lives: NDArray[Any]
    prob: NDArray[Any]


def tell(folder: Folder, *, rows: int, seed: int, engine: Any = None, exact: bool = False) -> Story:
    """Simulate sightings, learn from them, and predict places elsewhere.

    Parameters
    ----------
    folder : Folder
    rows : int
        Places to learn from, and as many to predict.
    seed : int
    engine : engine
        Who runs the blocks of the fits.
    exact : bool
        Not used: the ranges hold for any seed.

    Returns
    -------
    Story
    """
    import numpy as np
    import pyarrow as pa

    from scarce import MaxentClassifier, correct_prior, open_rows
    from scarce.evaluation.ranking import auc
    from scarce.evaluation.scores import log_loss

    rng = np.random.default_rng([seed, 2])
    known, other, survey = (_draw(n, rng) for n in (rows, rows, SURVEYED))
    seen = known.lives & (rng.random(rows) < REPORTED)
    share = float(survey.lives.mean())
    columns = dict(zip(NAMES, known.X.T, strict=True))
    marks = np.where(seen, 1.0, np.nan)
    folder.table("sightings.csv", {"site": np.arange(1, rows + 1), **columns, "seen": marks})

    data = open_rows(folder.file("sightings.csv"), label="seen", drop="site", engine=engine)
    where = MaxentClassifier(engine=engine).fit(data)
    level = MaxentClassifier("robust", prevalence=share, engine=engine).fit(data)
    elsewhere = open_rows(pa.table(dict(zip(NAMES, other.X.T, strict=True))), like=data.schema)
    lines, curved = (_absent(known.X, seen, other.X, curves=curves) for curves in (False, True))
    sides = {
        "not seen = absent, lines": lines,
        "not seen = absent, curves": curved,
        "  the same, survey's share": correct_prior(curved, float(curved.mean()), share),
        "maxent, survey's share": level.predict_proba(elsewhere)[:, 1],
        "true probabilities": other.prob,
    }
    truth = float(other.lives.mean())
    figures = {
        "sites": rows,
        "sightings": int(seen.sum()),
        "holes": float(np.isnan(known.X).mean()),
        "surveyed_share": share,
        "happened": truth,
        "sides": {
            name: {
                "mean": float(said.mean()),
                "auc": auc(other.lives, said),
                "log_loss": log_loss(other.lives, said),
            }
            for name, said in sides.items()
        },
        "divergence": float(where.divergence_[1]),
        "gap": where.report_.gap,
        "response": _response(where, rng),
    }
    return Story(
        figures,
        _checks(figures),
        lambda: _show(figures),
        lambda page: _describe(page, figures, where),
    )


def _draw(n: int, rng: Any) -> Places:
    """Draw places; the animal knows all of their features, the table only some."""
    import numpy as np

    X = np.column_stack(
        [
            np.round(rng.normal(14.0, 6.0, n), 1),
            np.round(rng.gamma(4.0, 200.0, n)),
            np.round(rng.beta(1.2, 1.2, n), 2),
            np.round(rng.exponential(8.0, n), 1),
        ]
    )
    prob = 0.9 * np.prod([_factor(name, X[:, j]) for j, name in enumerate(NAMES)], axis=0)
    lives = rng.random(n) < prob
    return Places(np.where(rng.random(X.shape) < HOLES, np.nan, X), lives, prob)


def _factor(name: str, x: Any) -> Any:
    """Return what one feature does to the probability; the slope does nothing."""
    import numpy as np
    from scipy.special import expit

    if name == "temperature":
        return np.exp(-(((x - 18.0) / 5.0) ** 2))
    if name == "rain":
        return expit((x - 600.0) / 100.0)
    return (1.0 + 3.0 * x) / 4.0 if name == "forest" else np.ones_like(x)


def _absent(X: Any, seen: Any, ask: Any, *, curves: bool) -> Any:
    """Return what the usual way says: no sighting is an absence, and a hole is a mean."""
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer, StandardScaler

    shape = SplineTransformer() if curves else StandardScaler()
    model = make_pipeline(SimpleImputer(), shape, LogisticRegression(max_iter=2000))
    return model.fit(X, seen).predict_proba(ask)[:, 1]


def _response(model: Any, rng: Any) -> dict[str, Any]:
    """Return each variable's curve beside the true one, as factors on the mean of the pool.

    The true density ratio is a product over the variables, so each has a curve of its own.
    """
    import numpy as np

    X = _draw(20_000, rng).X
    found = {}
    for j, name in enumerate(NAMES):
        pool = X[~np.isnan(X[:, j]), j]
        x = np.quantile(pool, np.linspace(0.01, 0.99, 60))
        curve = model.response_curve(name)
        ratio, truth = np.exp(np.interp(pool, curve.x, curve.tilt)), _factor(name, pool)
        said = np.exp(np.interp(x, curve.x, curve.tilt)) / ratio.mean()
        true = _factor(name, x) / truth.mean()
        found[name] = {"x": x, "y": said, "truth": true, "off": float(abs(said - true).mean())}
    return found


def _checks(figures: dict[str, Any]) -> list[Check]:
    sides = figures["sides"]
    mean = {name: side["mean"] for name, side in sides.items()}
    auc, loss = (
        {name: side[key].value for name, side in sides.items()} for key in ("auc", "log_loss")
    )
    lines, curves, moved, maxent, true = sides
    return [
        Check(
            "wildlife: maxent's mean probability over the survey's share",
            mean[maxent] / figures["surveyed_share"],
            0.85,
            1.15,
            "a share that is given is kept on the places learnt from; these are others",
        ),
        Check(
            "wildlife: mean probability over the truth if not seen means absent",
            mean[curves] / figures["happened"],
            0.1,
            0.3,
            "a fifth of the places is reported, so a fifth of the truth is said",
        ),
        Check(
            "wildlife: AUC gained over lines with filled holes",
            auc[maxent] - auc[lines],
            0.03,
            0.13,
            "temperature has a peak, which no line can follow",
        ),
        Check(
            "wildlife: log loss above that of the true probabilities",
            loss[maxent] - loss[true],
            0.02,
            0.1,
            "a quarter of the values is missing, and those cannot be known",
        ),
        Check(
            "wildlife: log loss below that of curves at the survey's share",
            loss[moved] - loss[maxent],
            -0.01,
            0.05,
            "the same knowledge; holes that are filled with means mislead",
        ),
        Check(
            "wildlife: duality gap of the fit",
            figures["gap"],
            0.0,
            1e-6,
            "what the fit was asked for",
        ),
        Check(
            "wildlife: mean error of the temperature curve",
            figures["response"]["temperature"]["off"],
            0.0,
            0.4,
            "200 sightings; a flat curve would be off by 0.75",
        ),
    ]


def _show(figures: dict[str, Any]) -> None:
    say_wrapped(
        f"WILDLIFE  {figures['sightings']:,} sightings at {figures['sites']:,} places, "
        f"{figures['holes']:.0%} of the values missing. It lives at {figures['happened']:.1%} of "
        f"the places to predict; a survey of {SURVEYED} said {figures['surveyed_share']:.1%}."
    )
    heading = ["probabilities elsewhere", "mean said", "AUC", "log loss"]
    rows = [
        [name, f"{side['mean']:.1%}", f"{side['auc'].value:.3f}", f"{side['log_loss'].value:.4f}"]
        for name, side in figures["sides"].items()
    ]
    write_line(aligned([heading, *rows]))
    curve = figures["response"]["temperature"]
    best = float(curve["x"][curve["y"].argmax()])
    write_line(f"  It likes {best:.1f} degrees best; in truth 18.")


def _describe(page: Report, figures: dict[str, Any], where: Any) -> None:
    from scarce.plots.picture import Axis, Line, Panels

    page.section(
        "Wildlife: sightings, and never an absence",
        f"{figures['sightings']:,} of {figures['sites']:,} places have a sighting "
        f"(`sightings.csv`), {figures['holes']:.0%} of the values are missing, and nobody knows "
        "which share of the animals is reported. The usual way takes places without a sighting for "
        "absences and fills holes with means; what it predicts is the chance of a report. "
        "`MaxentClassifier` takes such places for what they are, not known, and leaves holes out. "
        "How common the animal is no method can learn from sightings: here a survey of "
        f"{SURVEYED} places drawn at random says {figures['surveyed_share']:.1%}; the truth at the "
        f"places to predict is {figures['happened']:.1%}.",
    )
    page.table(
        ["probabilities elsewhere", "mean said", "AUC", "log loss"],
        [
            [name.strip(), f"{side['mean']:.1%}", side["auc"], side["log_loss"]]
            for name, side in figures["sides"].items()
        ],
        caption="At other places, against where the animal really lives. AUC: higher is better.",
    )
    page.figure(
        Panels(
            {
                name: [
                    Line("truth", one.get("truth_x", one["x"]), one["truth"], grey=True),
                    Line("estimate", one["x"], one["y"], one.get("low"), one.get("high")),
                ]
                for name, one in figures["response"].items()
            },
            Axis("times as common as on average"),
        ),
        "Where is it likelier, and by which factor? Maxent's curve of each variable beside the "
        "true one; the slope does nothing in truth.",
    )
    page.text(f"The fit, {first_line(where.report_)}.")
    page.heading("What this leans on")
    page.assumes(
        [
            "Where the animal lives, it is reported whatever the place.",
            "Whether a value is missing has nothing to do with a sighting.",
            "The surveyed places were drawn at random.",
        ]
    )
