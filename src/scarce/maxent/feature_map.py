"""All features of a data set: from coefficients to lines, and from sums back to features.

    tilt(x) = sum_j seen_j(x) * [ coef_j (f_j(x) - target_j) + half_width_j |coef_j| ]   (004 eq 12)

On each segment the features of a variable sum to one line, so a row costs one look-up per variable
whatever the number of knots; squares and products of variables are a small quadratic form.
`lines` is the forward map, `expectations` its adjoint; tests compare them by inner products. A
missing variable has the line 0; a product that misses one factor takes what is expected of it
(factors.py), or is missing too. Does not know rows (coded.py), nor where targets and half widths
come from (boxes.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.errors import Argument, UsageError, suggest
from scarce.maxent.axes import Axis, AxisStack, Segments
from scarce.maxent.families import Category, Family, Hinge, Linear, Threshold

Which = NDArray[np.intp]

FAMILIES: dict[str, Family] = {"l": Linear(), "h": Hinge(), "t": Threshold()}
LETTERS = "lqpht"

# features="auto": letters by number of labelled rows, as in Maxent.
AUTO = ((80.0, "lqph"), (15.0, "lqh"), (10.0, "lq"), (0.0, "l"))
MOST_PRODUCTS = 50  # "auto" leaves products out with more variables: their number grows as V^2


class Lines(NamedTuple):
    """The tilt, ready for look-up: a line per segment, and a quadratic form for pairs."""

    start: Array  # (n_cells,), the segments of all variables, concatenated
    slope: Array  # (n_cells,)
    bend: Array  # (V, V): sum over pairs of bend[u, v] * place_u * place_v
    bend_seen: Array  # (V, V): the same of seen_u * seen_v


class Sums(NamedTuple):
    """Weighted sums over rows, from which every feature's own sum follows."""

    total: float
    mass: Array  # (n_cells,): sum of w in each segment
    rest: Array  # (n_cells,): sum of w * rest
    rest2: Array  # (n_cells,): sum of w * rest^2; empty unless squares are asked for
    pair: Array  # (V, V): sum of w * place_u * place_v; empty without squares and products
    pair_seen: Array  # (V, V)
    pair2: Array  # (V, V): sum of w * (place_u * place_v)^2; empty unless squares are asked for


@dataclass(frozen=True)
class _Part:
    """The features of one family on one variable."""

    variable: int
    family: Family
    features: slice
    cells: slice  # the variable's segments with values


@dataclass(frozen=True, eq=False)
class _Group:
    """Parts of one family on variables with the same number of segments, processed at once."""

    family: Family
    axis: Segments
    features: Which  # (size,), or (variables, size)
    cells: Which  # (segments,), or (variables, segments)


class FeatureMap:
    """The features of all variables, as a linear map and its adjoint.

    Parameters
    ----------
    axes : sequence of Axis
        The variables.
    families : sequence of Family
        The families of features; a family may have no features for some variables.
    pairs : sequence of (int, int)
        Squares and products: positions u <= v of the variables that are multiplied.
    expected : bool
        Whether a product counts where one factor is seen, with what is expected of the other;
        else where both are.

    Examples
    --------
    >>> from scarce.maxent.families import Hinge
    >>> space = FeatureMap([Axis("rain", np.array([0.0, 1.0, 4.0]))], [Hinge()])
    >>> space.names[:2], space.n_features, space.n_cells
    (['rain > 0', 'rain > 1'], 4, 3)
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        families: Sequence[Family],
        pairs: Sequence[tuple[int, int]] = (),
        *,
        expected: bool = False,
    ) -> None:
        self.axes = tuple(axes)
        self.families = tuple(families)
        self.pairs = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        self.expected = expected
        lengths = [axis.n_segments + 1 for axis in self.axes]
        self.first_cell = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        self.n_cells = int(self.first_cell[-1])
        self.parts: list[_Part] = []
        count = 0
        for variable, axis in enumerate(self.axes):
            cell = int(self.first_cell[variable])
            for family in self.families:
                size = family.size(axis)
                if size:
                    where = slice(count, count + size)
                    cells = slice(cell, cell + axis.n_segments)
                    self.parts.append(_Part(variable, family, where, cells))
                    count += size
        self.groups = _groups(self.parts, self.axes)
        self.first_pair = count
        self.n_features = count + len(self.pairs)
        self.variable_of = np.full(self.n_features, -1, dtype=np.intp)
        self.steplike = np.zeros(self.n_features, dtype=bool)
        self.part_of = np.full(self.n_features, -1, dtype=np.intp)
        for number, part in enumerate(self.parts):
            self.variable_of[part.features] = part.variable
            self.steplike[part.features] = part.family.steplike
            self.part_of[part.features] = number

    @property
    def names(self) -> list[str]:
        """Return a name for each feature."""
        out: list[str] = []
        for part in self.parts:
            out += part.family.names(self.axes[part.variable])
        for u, v in self.pairs:
            one, other = self.axes[u].name, self.axes[v].name
            out.append(f"{one}^2" if u == v else f"{one} * {other}")
        return out

    @property
    def letters(self) -> list[str]:
        """Return the letter of each feature."""
        out = [letter for part in self.parts for letter in [part.family.letter] * _size(part)]
        return out + ["q" if u == v else "p" for u, v in self.pairs]

    @property
    def place_lines(self) -> tuple[Array, Array]:
        """Start and slope, on every cell, of each variable scaled to [0, 1]."""
        start, slope = np.zeros(self.n_cells), np.zeros(self.n_cells)
        for axis, cell in zip(self.axes, self.first_cell, strict=False):
            if not axis.category and not axis.flat:
                cells = slice(cell, cell + axis.n_segments)
                start[cells], slope[cells] = axis.places[:-1], axis.lengths
        return start, slope

    @property
    def seen_cells(self) -> Array:
        """1 on cells with values, 0 on the cells of missing values."""
        seen = np.ones(self.n_cells)
        seen[self.first_cell[1:] - 1] = 0.0
        return seen

    def lines(self, coef: Array, target: Array, half_width: Array) -> Lines:
        """Return the tilt of the given coefficients: the forward map."""
        constant = half_width_times(coef, half_width) - coef * target
        start, slope = np.zeros(self.n_cells), np.zeros(self.n_cells)
        for group in self.groups:
            own = coef[group.features]
            if own.any():
                up, along = group.family.forward(group.axis, own)
                start[group.cells] += up + constant[group.features].sum(axis=-1, keepdims=True)
                slope[group.cells] += along
        bend, bend_seen = self._square(), self._square()
        if len(self.pairs):
            u, v = self.pairs.T
            bend[u, v] = coef[self.first_pair :]
            bend_seen[u, v] = constant[self.first_pair :]
        return Lines(start, slope, bend, bend_seen)

    def expectations(self, sums: Sums) -> tuple[Array, Array]:
        """Return the weighted sum of each feature over the rows that see it, and their weight."""
        value, seen = np.empty(self.n_features), np.empty(self.n_features)
        for group in self.groups:
            mass = sums.mass[group.cells]
            value[group.features] = group.family.adjoint(group.axis, mass, sums.rest[group.cells])
            seen[group.features] = mass.sum(axis=-1, keepdims=True)
        if len(self.pairs):
            u, v = self.pairs.T
            value[self.first_pair :] = sums.pair[u, v]
            seen[self.first_pair :] = sums.pair_seen[u, v]
        return value, seen

    def squares(self, sums: Sums) -> Array:
        """Return the weighted sum of each feature's square over the rows that see it."""
        out = np.empty(self.n_features)
        for group in self.groups:
            cells = group.cells
            out[group.features] = group.family.squares(
                group.axis, sums.mass[cells], sums.rest[cells], sums.rest2[cells]
            )
        if len(self.pairs):
            out[self.first_pair :] = sums.pair2[self.pairs[:, 0], self.pairs[:, 1]]
        return out

    def tables(self, which: Which) -> tuple[Which, Array, Array]:
        """Return the variable of each feature, and its start and slope by cell.

        The lines have as many columns as the variable with the most segments, and one more that
        stays 0.
        """
        width = max(axis.n_segments for axis in self.axes) + 1
        variable = self.variable_of[which]
        start, slope = np.zeros((len(which), width)), np.zeros((len(which), width))
        for number in np.unique(self.part_of[which]):
            part = self.parts[number]
            rows = np.flatnonzero(self.part_of[which] == number)
            unit = np.zeros((len(rows), _size(part)))
            unit[np.arange(len(rows)), which[rows] - part.features.start] = 1.0
            n = self.axes[part.variable].n_segments
            start[rows, :n], slope[rows, :n] = part.family.forward(self.axes[part.variable], unit)
        return variable, start, slope

    def _square(self) -> Array:
        size = len(self.axes) if len(self.pairs) else 0
        return np.zeros((size, size))


def _groups(parts: Sequence[_Part], axes: Sequence[Axis]) -> list[_Group]:
    """Group parts of one family and length; a family that is not stackable stays apart."""
    out: list[_Group] = []
    alike: dict[tuple[int, int], list[_Part]] = {}
    for part in parts:
        axis = axes[part.variable]
        if getattr(part.family, "stackable", False):
            alike.setdefault((id(part.family), axis.n_segments), []).append(part)
        else:
            out.append(_Group(part.family, axis, _range(part.features), _range(part.cells)))
    for many in alike.values():
        stack = AxisStack([axes[part.variable] for part in many])
        features = np.array([_range(part.features) for part in many])
        out.append(
            _Group(many[0].family, stack, features, np.array([_range(part.cells) for part in many]))
        )
    return out


def _range(part: slice) -> Which:
    return np.arange(part.start, part.stop)


def half_width_times(coef: Array, half_width: Array) -> Array:
    """Return half_width * |coef|, which is 0 for an unused feature without a box."""
    with np.errstate(invalid="ignore"):
        return np.where(coef == 0.0, 0.0, half_width * np.abs(coef))


def _size(part: _Part) -> int:
    return int(part.features.stop - part.features.start)


def choose_families(
    features: object, n_labelled: float, n_columns: int
) -> tuple[list[Family], str, str]:
    """Return families of one variable, the letters of second order, and all letters.

    Parameters
    ----------
    features : "auto", str, or sequence of letters and families
    n_labelled : float
        Labelled weight of the smallest class, by which "auto" chooses.
    n_columns : int

    Examples
    --------
    >>> choose_families("auto", 12.0, 3)[2], choose_families("hq", 12.0, 3)[1]
    ('lq', 'q')
    """
    if isinstance(features, str) and features == "auto":
        features = next(letters for least, letters in AUTO if n_labelled >= least)
        if n_columns > MOST_PRODUCTS:
            features = features.replace("p", "")
    given = list(features) if isinstance(features, (str, list, tuple)) else []
    families: list[Family] = []
    second = letters = ""
    for one in given:
        if isinstance(one, str) and one in FAMILIES:
            families.append(FAMILIES[one])
        elif isinstance(one, str) and one in ("q", "p"):
            second += one
        elif not isinstance(one, str) and hasattr(one, "forward") and hasattr(one, "adjoint"):
            families.append(one)
        else:
            given = []
            break
        letters += one if isinstance(one, str) else one.letter
    if not given:
        raise UsageError(
            "{features} is not known.{hint}",
            code="unknown-features",
            features=Argument("features", features),
            hint=suggest(str(features), ["auto"]),
            letters=LETTERS,
            remedy="Give 'auto', letters out of {letters!r} (linear, quadratic, product, hinge, "
            "threshold) such as 'lqh', or a list of letters and families of your own.",
        )
    return families, second, letters


def feature_map(
    axes: Sequence[Axis], families: Sequence[Family], second: str, *, expected: bool = False
) -> FeatureMap:
    """Return the map of these families, categories, and squares ("q") and products ("p")."""
    useful = [v for v, axis in enumerate(axes) if not axis.category and not axis.flat]
    pairs = [(v, v) for v in useful] if "q" in second else []
    if "p" in second:
        pairs += [(u, v) for at, u in enumerate(useful) for v in useful[at + 1 :]]
    products = any(u != v for u, v in pairs)
    return FeatureMap(axes, [*families, Category()], pairs, expected=expected and products)
