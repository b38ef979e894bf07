"""The steps from rows with holes, or without labels, to the Gaussians of the classes.

Labelled rows come first: one covariance for all classes, then one for each, then, where asked for,
the unlabelled rows. Each climb starts where the one before ended, and each is penalised as far as
covariances must be drawn together: what they are drawn to, and how strongly, is settled before the
last climb from the expected moments, as if those had been seen, and then kept. Expected values
agree with the model that filled them in, so rows weigh only as much as the share of pairs seen;
with most values missing the choice still draws somewhat too far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.gaussian.em import Coordinates, CovarianceHill, Expected, Singular, Theta
from scarce.gaussian.em_driver import Climbed, climb
from scarce.gaussian.moments import CrossMoments, value_moments
from scarce.gaussian.parts import Covariances, Floor, Settings, covariances
from scarce.gaussian.shrinkage import FLOOR, diagonal_share, shrink

SURE = 1.0 - 1e-4  # intensity from which a class is as good as its target
FEW = 5.0  # pairs of values seen, per feature, below which holes may leave a covariance singular
FIRST_PASSES = 12  # before the intensities are chosen for good


class Learned(NamedTuple):
    """What the passes found, in the units of the data."""

    mean: Array
    found: Covariances
    mix: Array  # (classes,), shares among the unlabelled rows
    open_weight: Array  # (classes,), expected weight of unlabelled rows of each class
    climbed: Climbed
    passes: int


class Climber:
    """Carries the present parameters from one climb to the next."""

    def __init__(
        self,
        rows: Rows,
        engine: Engine,
        cross: CrossMoments,
        origin: Array,
        columns: NDArray[np.intp],
        floor: Floor,
        settings: Settings,
        tol: float,
        max_passes: int,
        mix: Array | None = None,
    ) -> None:
        values = value_moments(cross)
        seen = values.seen.sum(axis=0)
        middle = (values.seen * values.mean).sum(axis=0) / seen
        self.scale = np.sqrt(np.maximum(values.squares.sum(axis=0) / seen, floor.least))
        self.centre = origin + middle
        self.complete = CrossMoments(
            cross.weight,
            (cross.mean - middle) / self.scale,
            cross.scatter / self.scale / self.scale[:, None],
            cross.holed,
        )
        self.floor = Floor(*(part / self.scale**2 for part in floor))
        self.rows, self.engine, self.settings = rows, engine, settings
        self.coordinates = Coordinates(columns, self.centre, self.scale, False)
        self.tol, self.max_passes = tol, max_passes
        self.passes = 0
        self.pooled_share = 0.0
        self.shared_reference: Array | None = None
        self.singular: set[int] = set()
        weight = values.weight
        self.n_classes, self.d = values.mean.shape
        variance = np.maximum(values.squares.sum(axis=0) / seen / self.scale**2, self.floor.least)
        self.pooled = np.diag(variance)
        self.known_mix = mix is not None
        self.at = Theta(
            weight / weight.sum() if mix is None else mix,
            (values.mean - middle) / self.scale,
            np.diag(variance)[None],
        )
        # Share of the pairs of values that were seen: the rows weigh that much against a target.
        self.seen_share = np.square(values.seen.mean(axis=1) / weight)
        self.holes = bool((cross.holed.seen > 0).any())

    # --- the way up -------------------------------------------------------------------------------

    def labelled(self) -> Climbed | None:
        """Learn from labelled rows; None where that took no climb."""
        if self.holes:
            return self._climb_all()
        found = covariances(self.complete, self.floor, self.settings)
        s = np.minimum(found.intensity, SURE)
        weight = self.complete.weight if len(s) > 1 else self.complete.weight.sum()
        self.strength = weight * s / (1.0 - s)
        self.target = found.target
        self.singular.update(found.singular)
        self.pooled_share = found.pooled_share
        self.at = Theta(self.at.mix, self.complete.mean, found.covariance)
        self.pooled = found.target.mean(axis=0)
        return None

    def unlabelled(self) -> Climbed:
        """Go on with the unlabelled rows."""
        self.coordinates = self.coordinates._replace(unlabelled=True)
        if self.settings.kind == "full" and not self.singular:
            return self._run(self.max_passes)
        return self._climb_all()

    def _climb_all(self) -> Climbed:
        """One covariance for all classes first: start and target of those of each class."""
        own = self.at.covariance if len(self.at.covariance) > 1 else None
        done = self._shared()
        if self.settings.kind == "shared":
            return done
        self.pooled = self.at.covariance[0]
        whole = np.repeat(self.pooled[None], self.n_classes, axis=0)
        self.target, self.strength = whole.copy(), np.zeros(self.n_classes)
        if self.settings.kind == "full":
            few = self.complete.weight + self.complete.holed.weight < self.d + 2
            self.singular.update(np.flatnonzero(few).tolist())
            if own is not None:
                free = [y for y in range(self.n_classes) if y not in self.singular]
                whole[free] = own[free]
        self.at = self.at._replace(covariance=whole)
        self._choose()
        if self.strength.any() and self.settings.shrinkage == "auto":
            self._run(FIRST_PASSES)
            self._choose()
        return self._run(self.max_passes)

    def _shared(self) -> Climbed:
        """One covariance for all classes, drawn to its diagonal only where it must be."""
        variance = np.diagonal(self.at.covariance, axis1=1, axis2=2).mean(axis=0)
        self.target = np.diag(variance)[None]
        self.at = self.at._replace(covariance=self.at.covariance.mean(axis=0)[None])
        self.strength = np.zeros(1)
        weight = float((self.complete.weight + self.complete.holed.weight).sum())
        free = weight - self.n_classes + 1
        # Few pairs of values: look out for a likelihood that rises for ever.
        few = weight * self.seen_share.mean() < FEW * self.d
        self.shared_reference = self.target[0] if few else None
        if self.pooled_share > 0:
            self._draw_shared(self.pooled_share, weight)
        elif free < self.d + 2:
            self._draw_shared(self._diagonal_share(free), weight)
        while True:
            try:
                return self._climb(self.max_passes)
            except Singular:
                self.at = self.at._replace(covariance=self.target.copy())
                fresh = self.pooled_share == 0
                share = self._diagonal_share(free) if fresh else 10.0 * self.pooled_share
                self._draw_shared(share, weight)

    def _diagonal_share(self, free: float) -> float:
        own = self._hill().own_moments(self.at, self._expect())
        return diagonal_share(own.scatter.sum(axis=0) / own.weight.sum(), free)

    def _draw_shared(self, share: float, weight: float) -> None:
        self.pooled_share = min(share, SURE)
        self.strength = np.array([weight * self.pooled_share / (1.0 - self.pooled_share)])

    # --- the parts --------------------------------------------------------------------------------

    def _hill(self) -> CovarianceHill:
        shared = self.settings.kind == "shared" or len(self.at.covariance) < self.n_classes
        return CovarianceHill(
            self.rows,
            self.engine,
            self.coordinates,
            self.complete,
            shared,
            self.strength,
            self.target,
            self.shared_reference if shared else self.pooled,
            self.known_mix,
        )

    def _expect(self) -> Expected:
        self.passes += 1
        return self._hill().expect(self.at)

    def _climb(self, passes: int) -> Climbed:
        done = climb(self._hill(), self.at, tol=self.tol, max_passes=passes)
        self.passes += done.passes
        self.at = done.at
        return done

    def _run(self, passes: int) -> Climbed:
        """Climb; a class that loses a direction on the way is drawn, and the climb begins anew."""
        while True:
            try:
                return self._climb(passes)
            except Singular as lost:
                fresh = [y for y in lost.which if y not in self.singular]
                self.singular.update(fresh)
                covariance = self.at.covariance.copy()
                covariance[lost.which] = self.target[lost.which]
                self.at = self.at._replace(covariance=covariance)
                if fresh and self.settings.kind == "full":
                    self._choose(fresh)
                least = FLOOR / (1.0 - FLOOR) * lost.moments.weight[lost.which]
                more = np.where(np.isin(lost.which, fresh), 1.0, 10.0)
                self.strength[lost.which] = np.maximum(least, more * self.strength[lost.which])

    def _choose(self, only: Sequence[int] | None = None) -> None:
        """Choose how far classes are drawn, as if the expected moments had been seen."""
        shrunk = self.settings.kind == "shrunk"
        if only is None:
            only = range(self.n_classes) if shrunk else sorted(self.singular)
        if not only:
            return
        own = self._hill().own_moments(self.at, self._expect())
        covariance = own.scatter / own.weight[:, None, None]
        intensity = self.settings.shrinkage if shrunk else "auto"
        found = shrink(covariance, own.weight, self.pooled, intensity, only)
        seen = self.seen_share if intensity == "auto" else np.ones(self.n_classes)
        for y in only:
            s = min(found.intensity[y], SURE)
            self.strength[y] = seen[y] * own.weight[y] * s / (1.0 - s)
            self.target[y] = found.target[y]

    def result(self, climbed: Climbed) -> Learned:
        """Return what was learned in the units of the data."""
        moments: Expected = climbed.moments
        weight = moments.weight if len(self.strength) > 1 else np.array([moments.weight.sum()])
        intensity = self.strength / (weight + self.strength)
        drawn = intensity[:, None, None] * self.target
        covariance = self.at.covariance
        if self.settings.unbiased:
            free = weight - (self.n_classes if len(weight) == 1 else 1)
            factor = np.where(free > 0, weight / np.where(free > 0, free, 1.0), 1.0)
            covariance = drawn + factor[:, None, None] * (covariance - drawn)
        units = self.scale * self.scale[:, None]
        found = Covariances(
            covariance * units,
            self.target * units,
            intensity,
            tuple(sorted(self.singular)),
            self.pooled_share,
        )
        mean = self.centre + self.at.mean * self.scale
        return Learned(mean, found, self.at.mix, moments.mix, climbed, self.passes)
