"""The discriminant function of two Gaussian classes, written out.

    f(x) = log P(+ | x) / P(- | x) = x'Ax + b'x + c                       (003 sections 1.4, 1.6)
    A = (C_-^-1 - C_+^-1) / 2,   b = C_+^-1 m_+ - C_-^-1 m_-,
    c = log p_+ / p_- + (m_-' C_-^-1 m_- - m_+' C_+^-1 m_+) / 2 + (log det C_- - log det C_+) / 2

Where classes share C, A is 0 and f is linear: logistic regression's form. For rows without holes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scarce.engine.block import Array
from scarce.errors import UsageError

SHARED = ("shared", "shared-diag")


class Discriminant(NamedTuple):
    """Log odds of the second of two classes as a function of a complete row."""

    quadratic: Array  # (d, d), 0 where the classes share their covariance
    linear: Array  # (d,)
    constant: float

    def __call__(self, X: Any) -> Array:
        """Return the log odds of rows, shape (n,)."""
        X = np.asarray(X, dtype=np.float64)
        return np.asarray(
            np.einsum("ij,jk,ik->i", X, self.quadratic, X) + X @ self.linear + self.constant
        )


def discriminant(model: Any) -> Discriminant:
    """Return the discriminant function of a fitted model of two classes."""
    if len(model.classes_) != 2:
        raise UsageError(
            f"A discriminant function separates two classes, and there are {len(model.classes_)}: "
            "compare the columns of predict_joint_log_proba(X)."
        )
    inverse, log_det = _inverses(model)
    turned = np.einsum("ijk,ik->ij", inverse, model.mean_)
    length = np.einsum("ij,ij->i", turned, model.mean_)
    odds = np.log(model.class_prior_[1]) - np.log(model.class_prior_[0])
    constant = float(odds + (length[0] - length[1] + log_det[0] - log_det[1]) / 2)
    return Discriminant((inverse[0] - inverse[1]) / 2, turned[1] - turned[0], constant)


def linear(model: Any, name: str) -> tuple[Array, Array]:
    """Return weights (1, d) and constant (1,) of the linear log odds, or raise AttributeError."""
    if not hasattr(model, "mean_") or model.covariance not in SHARED or len(model.classes_) != 2:
        raise AttributeError(
            f"{name} exists for two classes that share their covariance (covariance='shared' or "
            "'shared-diag') once fitted; discriminant() gives the quadratic form otherwise."
        )
    inverse, _ = _inverses(model)
    # (m_- - m_+)'C^-1(m_- + m_+) / 2, without two large squares to subtract from each other.
    weights = inverse[0] @ (model.mean_[1] - model.mean_[0])
    odds = np.log(model.class_prior_[1]) - np.log(model.class_prior_[0])
    middle = weights @ (model.mean_[0] + model.mean_[1]) / 2
    return weights[None], np.array([odds - middle])


def _inverses(model: Any) -> tuple[Array, Array]:
    """Inverse covariances, 0 for columns that are not used, and log determinants."""
    both = np.outer(model.used_, model.used_)
    if hasattr(model, "covariance_"):
        covariance = np.broadcast_to(model.covariance_, (2, *both.shape))
        spread = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        units = spread[:, :, None] * spread[:, None, :]
        inverse = np.linalg.inv(covariance / units) / units
        log_det = np.linalg.slogdet(covariance / units)[1] + 2 * np.log(spread).sum(axis=1)
        return inverse * both, np.asarray(log_det)
    inverse = np.array([np.diag(1 / row) for row in model.variance_])
    logs = np.where(model.used_, np.log(model.variance_), 0.0)
    return inverse * both, np.asarray(logs.sum(axis=1))
