"""Maxent with hinge features: who is how fast, and how far from the optimum is its answer?

    minimise  D = log mean exp(tilt) over the pool                        (000 eq 9; 004 eq 12)
    tilt(x) = sum_j coef_j (f_j(x) - target_j) + half_width_j |coef_j|

Nothing is taken from a side but its predictions: the ratio of densities at rows that the problem
asks about, which are the knots of one variable after the other and some rows of the pool. From
them follow the curve of each variable, D with the least penalty that any coefficients of these
curves have, and the certificate, a duality gap: the side's distribution is mixed with the presences
until it satisfies every box, and its divergence from the pool is then at least the optimum's. So no
formula of any side is used, and no side's word is taken for its own convergence.

Half widths are those of maxnet at its defaults (0.5 max(sd, 1/sqrt m) / sqrt m for hinges), which
`widths="maxent"` gives too. Assumes that presences are rows of the pool. Sides that approximate the
problem (maxnet and elapid fit a weighted logistic regression) are judged by the same formula.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.special import ndtr

from benchmarks.problem import ROWS_AT_ONCE, SEED, Answer, Array, Data, Problem

CERTIFICATE = 1e-6  # duality gap in nats that every side is asked to stop at, where it can be asked
LIMIT = 2e-6  # largest that counts: the gap found here may be a little above the side's own
PRESENCES = 200
PROBE = 1000  # rows of the pool at which sides must predict what their curves say
KNOTS = 50
PATH = tuple(float(each) for each in np.geomspace(5.0, 0.25, 20))  # multiples of the half widths


# --- features, boxes and the certificate ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable and its features: hinges between its knots, or indicators of its categories.

    Hinges are written as rising functions: from each knot to the last, and from the first knot to
    each. A falling hinge is one less a rising one, so that boxes and penalties are the same.
    """

    points: Array  # knots, or codes of the categories
    categorical: bool = False

    def features(self, x: Array) -> Array:
        """Return the matrix of all features, as one would write it."""
        if self.categorical:
            return (x[:, None] == self.points).astype(np.float64)
        low, high = self.points[0], self.points[-1]
        forward = (x[:, None] - self.points[:-1]) / (high - self.points[:-1])
        reverse = (x[:, None] - low) / (self.points[1:] - low)
        return np.clip(np.column_stack([forward, reverse]), 0.0, 1.0)

    def curve_at(self, x: Array, curve: Array) -> Array:
        """Return the curve at values of the variable."""
        if self.categorical:
            return np.asarray(curve[np.searchsorted(self.points, x)])
        return np.interp(x, self.points, curve)

    def half_widths(self, present: Array) -> Array:
        """Return maxnet's half widths from the features of the presences."""
        m = len(present)
        spread = present.std(axis=0, ddof=1) / np.sqrt(m)
        if self.categorical:
            return np.maximum(np.interp(m, [0, 10, 17], [0.65, 0.5, 0.25]) * spread, 1e-3)
        return np.maximum(0.5 * np.maximum(spread, 1.0 / m), 1e-3)

    def penalty(self, curve: Array, half_width: Array) -> float:
        """Return the least sum_j half_width_j |coef_j| among the coefficients of a curve.

        Hinges span the curves twice: at each inner knot the change of slope is shared between the
        two families, and one equation holds the first slope. A small linear program decides.
        """
        if self.categorical:  # a constant is free: the weighted median of the values
            values = np.abs(curve[:, None] - curve)
            return float((half_width @ values).min())
        count = len(self.points) - 1
        slope = np.diff(curve) / np.diff(self.points)
        low, high = self.points[0], self.points[-1]
        inner = np.arange(1, count)
        rows = [np.zeros(1), np.zeros(count), inner, inner]
        columns = [np.zeros(1), count + np.arange(count), inner, count + inner - 1]
        from_knot, to_knot = 1.0 / (high - self.points[:-1]), 1.0 / (self.points[1:] - low)
        values = [from_knot[:1], to_knot, from_knot[1:], -to_knot[:-1]]
        pairs = (np.concatenate(rows).astype(int), np.concatenate(columns).astype(int))
        equations = csr_array((np.concatenate(values), pairs), shape=(count, 2 * count)).toarray()
        wanted = np.append(slope[0], np.diff(slope))
        scale = high - low  # so that the program sees numbers near one
        found = linprog(
            np.tile(half_width, 2),
            A_eq=csr_array(np.hstack([equations, -equations]) * scale),
            b_eq=wanted * scale,
            method="highs",
        )
        return float(found.fun) if found.success else float("inf")


def certified(
    X: Array, y: Array, variables: Sequence[Variable], curves: Sequence[Array], scale: float
) -> tuple[float, float, Array]:
    """Return D, its duality gap, and the log ratio of densities at every row of the pool.

    D >= optimum >= -divergence(mixed from the pool), the mixed distribution being (1 - t) model + t
    presences with the least t for which it lies in every box.
    """
    tilt = np.zeros(len(y))
    for column, (variable, curve) in enumerate(zip(variables, curves, strict=True)):
        tilt += variable.curve_at(np.asarray(X[:, column]), curve)
    log_mean = float(np.log(np.mean(np.exp(tilt - tilt.max())))) + float(tilt.max())
    log_ratio = tilt - log_mean
    prob = np.exp(log_ratio) / len(y)
    present = y == 1.0
    penalty, mixture = 0.0, 0.0
    for column, (variable, curve) in enumerate(zip(variables, curves, strict=True)):
        here = variable.features(np.asarray(X[present, column]))
        half_width = scale * variable.half_widths(here)
        penalty += variable.penalty(curve, half_width)
        mean = np.zeros(here.shape[1])
        for part in _parts(len(y), here.shape[1]):
            mean += prob[part] @ variable.features(np.asarray(X[part, column]))
        missed = np.abs(mean - here.mean(axis=0))
        mixture = max(mixture, float((1.0 - half_width / np.maximum(missed, half_width)).max()))
    objective = log_mean - float(tilt[present].mean()) + penalty
    mixed = (1.0 - mixture) * prob + mixture * present / present.sum()
    some = mixed > 0.0
    divergence = float(mixed[some] @ np.log(mixed[some] * len(y)))
    return objective, objective + divergence, log_ratio


def _parts(rows: int, width: int) -> Iterator[slice]:
    size = max(1, 4_000_000 // width)
    return (slice(first, first + size) for first in range(0, rows, size))


# --- one species in one pool ----------------------------------------------------------------------


def draw_pool(
    rows: int, columns: int, presences: int, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Draw correlated variables of three shapes; yield parts with the key of each row.

    Variables are normal, log-normal and uniform in turn, from three shared factors. Presences are
    the rows of the largest keys: a sample without replacement from a Gaussian niche.
    """
    loads = rng.standard_normal((3, columns)) * 0.6
    spread = np.sqrt((loads**2).sum(axis=0) + 0.5)
    centre = rng.standard_normal(columns) * 0.5
    weight = np.where(np.arange(columns) % 2 == 0, 1.0, 0.0)  # every other variable matters
    for first in range(0, rows, ROWS_AT_ONCE):
        size = min(ROWS_AT_ONCE, rows - first)
        shared = rng.standard_normal((size, 3)) @ loads
        Z = (shared + np.sqrt(0.5) * rng.standard_normal((size, columns))) / spread
        key = -0.5 * (Z - centre) ** 2 @ weight + rng.gumbel(size=size)
        X = Z.copy()
        X[:, 1::3] = np.exp(0.5 * Z[:, 1::3])
        X[:, 2::3] = ndtr(Z[:, 2::3])
        yield X, key


@dataclass(frozen=True)
class MaxentProblem(Problem):
    """One species in a pool of rows; an answer holds `curves` at the knots and `probe`.

    `curves` has shape (scales, variables, knots), `probe` (scales, PROBE): ratios of densities at
    the first rows of the pool, which must be what the curves say. An answer with fewer scales than
    the problem has those at its end.
    """

    knots: int = KNOTS
    scales: tuple[float, ...] = (1.0,)
    limit: float | None = LIMIT
    certificate_name: str = "duality gap"

    def make(self, folder: Path, rows: int) -> Data:
        """Write the pool, presences labelled 1 and all other rows not labelled."""
        folder.mkdir(parents=True, exist_ok=True)
        X = np.lib.format.open_memmap(
            folder / "X.npy", mode="w+", dtype=np.float64, shape=(rows, self.columns)
        )
        key = np.empty(rows)
        first = 0
        rng = np.random.default_rng(SEED)
        for part, keys in draw_pool(rows, self.columns, PRESENCES, rng):
            X[first : first + len(keys)], key[first : first + len(keys)] = part, keys
            first += len(keys)
        y = np.full(rows, np.nan)
        y[np.argsort(key)[-min(PRESENCES, rows // 4) :]] = 1.0
        np.save(folder / "y.npy", y)
        X.flush()
        return Data(folder, self.coef(self.columns))

    def variables(self, X: Array) -> list[Variable]:
        """Return the variables, knots even between the least and the greatest value of the pool."""
        return [Variable(np.linspace(x.min(), x.max(), self.knots)) for x in np.asarray(X).T]

    def asked(self, X: Array, y: Array) -> Array:
        """Return the rows at which a side predicts after its fit."""
        return asked_rows(self.variables(X), np.asarray(X[y == 1.0][0]), np.asarray(X[:PROBE]))

    def answer(self, ratios: Sequence[Array], passes: int) -> Answer:
        """Return the answer from ratios of densities, up to a factor, at the rows asked about."""
        logs = [np.log(np.asarray(each, dtype=np.float64).ravel()) for each in ratios]
        cut = 1 + self.columns * self.knots
        curves = [(log[1:cut] - log[0]).reshape(self.columns, self.knots) for log in logs]
        return {
            "curves": np.array(curves),
            "probe": np.array([np.exp(log[cut:] - log[0]) for log in logs]),
            "passes": np.array([passes]),
        }

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return D at the last scale, and the largest duality gap of all."""
        X, y = data.mapped()
        X = np.asarray(X)
        variables = self.variables(X)
        worst = objective = 0.0
        held = self.scales[-len(answer["curves"]) :]
        for curves, probe, scale in zip(answer["curves"], answer["probe"], held, strict=True):
            objective, gap, log_ratio = certified(X, y, variables, list(curves), scale)
            said = np.log(probe) - log_ratio[: len(probe)]
            if not np.ptp(said) < 1e-5:  # the curves are not what the side predicts
                gap = float("inf")
            worst = max(worst, gap)
        return objective, worst

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return the largest difference of probed densities, in units of the largest density."""
        one, other = answer["probe"], reference["probe"]
        if one.shape != other.shape or not np.isfinite(one).all():
            return float("inf")
        one = one / one.mean(axis=1, keepdims=True)
        other = other / other.mean(axis=1, keepdims=True)
        return float((np.abs(one - other).max(axis=1) / other.max(axis=1)).max())


def asked_rows(variables: Sequence[Variable], base: Array, probe: Array) -> Array:
    """Return the base row, it with one variable at each of its points in turn, and the probe."""
    rows = [base[None, :]]
    for column, variable in enumerate(variables):
        part = np.tile(base, (len(variable.points), 1))
        part[:, column] = variable.points
        rows.append(part)
    return np.vstack([*rows, probe])


@dataclass(frozen=True)
class DefaultsProblem(MaxentProblem):
    """The same species with each package's own features and penalties; no common optimum.

    An answer holds `ratio`, the predicted density at every row of the pool up to a factor. The
    objective is the mean log loss of the presences, less that of the uniform distribution.
    """

    limit: float | None = None

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return minus the gain on the presences, which no penalty restrains; no certificate."""
        return -gain(answer["ratio"], data.mapped()[1]), None

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return half the sum of absolute differences: total variation between the two."""
        one, other = (each["ratio"] / each["ratio"].sum() for each in (answer, reference))
        return float(0.5 * np.abs(one - other).sum())


def gain(ratio: Array, y: Array) -> float:
    """Return the mean log density at the presences, against uniform."""
    ratio = np.asarray(ratio, dtype=np.float64)
    return float(np.log(ratio[y == 1.0]).mean() - np.log(ratio.mean()))


# --- many species ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class SpeciesProblem(MaxentProblem):
    """Species of the NCEAS set, each in the distinct places of its target group.

    An answer holds one curve per species and variable, padded with NaN; there is no probe. Hinges
    for the continuous variables, indicators for the categorical ones.
    """

    def missing(self) -> str | None:
        """Return what keeps the problem from being run, if anything does."""
        folder = os.environ.get("SCARCE_DATA")
        if folder and Path(folder, "nceas", "species.csv").exists():
            return None
        return "no data. Set SCARCE_DATA to the folder that holds nceas"

    def make(self, folder: Path, rows: int) -> Data:
        """Write one file per species, in even steps through the list until `rows` are reached."""
        from scarce.datasets import load_nceas, nceas_species

        folder.mkdir(parents=True, exist_ok=True)
        listed = nceas_species()
        step = 1 if rows >= self.rows else max(1, round(self.rows / rows))
        pools, total, number = [], 0, 0
        for entry in listed[::step]:
            held = load_nceas(entry.region, entry.species)
            places = {tuple(each) for each in held.presence_xy}
            y = np.array([1.0 if tuple(each) in places else np.nan for each in held.background_xy])
            kinds = np.array([name in held.categorical for name in held.columns])
            if number and total + len(y) > rows:
                break
            np.savez(folder / f"species-{number:03}.npz", X=held.background, y=y, kinds=kinds)
            padded = np.full((len(y), self.columns), np.nan)
            padded[:, : held.background.shape[1]] = held.background
            pools.append(padded)
            total, number = total + len(y), number + 1
        np.save(folder / "X.npy", np.vstack(pools))
        np.save(folder / "y.npy", np.zeros(total))
        return Data(folder, self.coef(self.columns))

    def each(self, data: Data) -> list[tuple[Array, Array, list[Variable], list[int]]]:
        """Return rows, labels, variables and categorical columns of each species."""
        found = []
        for path in sorted(data.folder.glob("species-*.npz")):
            with np.load(path) as held:
                X, y, kinds = held["X"], held["y"], held["kinds"]
            variables = [
                Variable(np.unique(x), True)
                if kind or x.min() == x.max()  # a constant is a category that all rows share
                else Variable(np.linspace(x.min(), x.max(), self.knots))
                for x, kind in zip(X.T, kinds, strict=True)
            ]
            found.append((X, y, variables, [int(each) for each in np.flatnonzero(kinds)]))
        return found

    def curves(self, variables: Sequence[Variable], ratio: Array) -> Array:
        """Return padded curves of one species from its answers at `asked_rows`."""
        log = np.log(np.asarray(ratio, dtype=np.float64).ravel())
        padded, first = np.full((self.columns, self.knots), np.nan), 1
        for column, variable in enumerate(variables):
            last = first + len(variable.points)
            padded[column, : len(variable.points)] = log[first:last] - log[0]
            first = last
        return padded

    def judge(self, answer: Answer, data: Data) -> tuple[float, float | None]:
        """Return the mean of D over the species, and the largest duality gap."""
        found = []
        for padded, (X, y, variables, _) in zip(answer["curves"], self.each(data), strict=True):
            curves = [
                curve[: len(variable.points)]
                for curve, variable in zip(padded, variables, strict=False)
            ]
            found.append(certified(X, y, variables, curves, self.scales[-1])[:2])
        return float(np.mean([each[0] for each in found])), max(each[1] for each in found)

    def difference(self, answer: Answer, reference: Answer) -> float:
        """Return the largest difference of curves, which counts places without rows too."""
        return float(np.nanmax(np.abs(answer["curves"] - reference["curves"])))


def _drawn_by_make(*_: Any) -> tuple[Array, Array]:
    raise NotImplementedError("Presences depend on the whole pool: MaxentProblem.make draws it.")


def _problem(name: str, title: str, rows: int, **more: Any) -> MaxentProblem:
    return MaxentProblem(
        name,
        title,
        rows,
        11,
        _drawn_by_make,
        None,
        tolerance=2e-2,
        in_file=False,
        **more,
    )


TITLE = f"Maxent, hinges at {KNOTS} knots, {PRESENCES} presences in the pool, maxnet's half widths"
_FIRST = _problem("maxent-1e4", TITLE, 10**4)
_SHARED = {each: getattr(_FIRST, each) for each in ("draw", "objective", "tolerance", "in_file")}
MAXENTS: tuple[Problem, ...] = (
    _FIRST,
    _problem("maxent-1e5", TITLE, 10**5),
    _problem("maxent-1e6", TITLE, 10**6),
    _problem(
        "maxent-knots",
        "The same with 1000 knots per variable, 21,978 features",
        10**5,
        knots=1000,
    ),
    replace(
        _problem(
            "maxent-path",
            "The same at 20 multiples of the half widths, 5 to 1/4: objective of the last fit, "
            "largest gap of all",
            10**5,
        ),
        scales=PATH,
    ),
    DefaultsProblem(
        "maxent-defaults",
        "The same presences and pool, each package with its own default features and penalties; "
        "the fit and the prediction of the pool, objective minus the gain on the presences",
        10**4,
        11,
        **_SHARED,
    ),
    SpeciesProblem(
        "maxent-species",
        "226 species of the NCEAS set, hinges and indicators, each in the distinct places of its "
        "target group; mean objective, largest gap",
        624_718,
        13,
        **_SHARED,
    ),
)
