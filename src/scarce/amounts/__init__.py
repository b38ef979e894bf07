"""Decisions about amounts (regression): how much, when too little and too much cost differently?

>>> from scarce.amounts import GaussianPredictive, Pinball, decide_regression
>>> decide_regression(GaussianPredictive([10.0], [2.0]), Pinball(1, 1)).tolist()
[10.0]
"""

from scarce.amounts.predictive import EmpiricalPredictive, GaussianPredictive
from scarce.amounts.quantile_models import (
    QuantilePredictive,
    cross_residuals,
    fit_quantiles,
    gaussian_from,
    residuals_from,
)
from scarce.amounts.regression import Linex, Pinball, decide_regression, expected_regression_cost

__all__ = [
    "decide_regression",
    "expected_regression_cost",
    "Pinball",
    "Linex",
    "GaussianPredictive",
    "EmpiricalPredictive",
    "QuantilePredictive",
    "fit_quantiles",
    "gaussian_from",
    "residuals_from",
    "cross_residuals",
]
