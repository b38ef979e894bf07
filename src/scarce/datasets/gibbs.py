"""Presence-only data over a finite set of places, complete or with missing values (paper 004).

p(x) = exp(X @ coef) / Z over the places; draws from p are half labelled, half tests  (section 4.2)
hide_gibbs hides values as in section 4.2, hide_gibbs_rows as in section 4.3.
What the text leaves open is an argument: replacement, the standard deviation of coef, how many rows
and values are hidden. Fits and imputes nothing.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from scarce.checks import Number, read_integer, read_number
from scarce.datasets.hide import (
    FEATURE_WAYS,
    FINITE,
    RandomState,
    generator,
    hide_features,
    hide_in_rows,
)
from scarce.datasets.records import GibbsSample
from scarce.engine.block import Array
from scarce.errors import Argument, UsageError, refuse_word


def make_gibbs(
    n: int = 200,
    *,
    n_features: int = 10,
    n_drawn: int = 100,
    replace: bool = True,
    coef_sd: float = 1.0,
    random_state: RandomState,
) -> GibbsSample:
    """Draw 004's synthetic presence-only data: places, a Gibbs law over them, draws from it.

    Parameters
    ----------
    n : int
        Number of places, uniform in the unit cube.
    n_features : int
        Dimension of the cube.
    n_drawn : int
        Number of draws from the law; the first half is labelled and the rest tests.
    replace : bool
        Whether a place can be drawn more than once; the paper does not say. Without replacement
        each draw follows the law among the places that are left.
    coef_sd : float
        Standard deviation of the law's coefficients. The paper says 1; without replacement, 4 comes
        nearest to its printed likelihoods.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    GibbsSample
        Places, law, labelled and test positions.

    Notes
    -----
    **Assumes** nothing that cancels: the paper's random mean shifts every exponent alike and is
    not drawn. An odd `n_drawn` gives the extra draw to the test part.

    References
    ----------
    Paper 004, section 4.2.

    Examples
    --------
    >>> sample = make_gibbs(replace=False, random_state=0)
    >>> int(sample.drawn.sum()), round(float(sample.prob.sum()), 12)
    (100, 1.0)
    """
    read_integer(n, "n")
    read_integer(n_features, "n_features")
    most = np.inf if replace else n
    read_number(n_drawn, "n_drawn", Number(1, most, whole=True), "integer-range")
    rng = generator(random_state)
    X = rng.random((n, n_features))
    coef = rng.normal(0.0, read_number(coef_sd, "coef_sd", FINITE), size=n_features)
    tilt = X @ coef
    log_partition = float(special.logsumexp(tilt))
    prob = np.exp(tilt - log_partition)
    if replace:
        drawn = rng.choice(n, size=n_drawn, p=prob / prob.sum())
    else:  # successive draws: the largest of tilt plus Gumbel noise come first
        drawn = rng.permutation(np.argsort(-(tilt + rng.gumbel(size=n)))[:n_drawn])
    labelled, test = drawn[: n_drawn // 2], drawn[n_drawn // 2 :]
    y = np.full(n, np.nan)
    y[labelled] = 1.0
    return GibbsSample(
        X, y, prob, labelled.astype(np.int64), test.astype(np.int64), coef, log_partition
    )


def hide_gibbs(
    sample: GibbsSample,
    *,
    how: str = "mcar",
    share: float = 0.5,
    coef_sd: float = 1.0,
    random_state: RandomState,
) -> Array:
    """Return the features of a Gibbs sample with values missing as in 004 section 4.2.

    Parameters
    ----------
    sample : GibbsSample
        The sample; it is not modified.
    how : {"mcar", "mar", "nmar"}
        "mcar" hides exactly `share` of all values. "mar" and "nmar" hide a random number of random
        columns (one at least, never all) in rows drawn from a Gibbs law over the other columns
        (mar) or over the hidden ones (nmar).
    share : float
        Share of values (mcar) or of rows (mar, nmar). The paper says half for mcar only.
    coef_sd : float
        Standard deviation of that second law's coefficients.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of shape (n, n_features)
        A copy of ``sample.X``; NaN where hidden.

    Notes
    -----
    **Assumes** what the paper leaves open: rows are drawn without replacement and each loses all
    of the hidden columns. See `hide_features` to choose the columns.

    References
    ----------
    Paper 004, section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> sample = make_gibbs(random_state=0)
    >>> hidden = hide_gibbs(sample, how="mar", random_state=1)
    >>> int(np.isnan(hidden).any(axis=1).sum())
    100
    """
    refuse_word("how", how, FEATURE_WAYS)
    rng = generator(random_state)
    columns = None
    n_columns = sample.X.shape[1]
    if how != "mcar":
        if n_columns < 2:
            raise UsageError(
                "{how} needs at least 2 columns, and X has {count}.",
                code="too-few-columns",
                how=Argument("how", how),
                count=n_columns,
            )
        size = int(rng.integers(1, n_columns))
        columns = rng.choice(n_columns, size=size, replace=False).tolist()
    return hide_features(
        sample.X,
        how=how,
        share=share,
        columns=columns,
        coef_sd=coef_sd,
        standardise=False,
        random_state=rng,
    )


def hide_gibbs_rows(
    sample: GibbsSample,
    *,
    n_positive: int,
    n_rows: int = 100,
    share: float = 0.5,
    random_state: RandomState,
) -> Array:
    """Return the features with `n_rows` rows incomplete, `n_positive` of them drawn places.

    Parameters
    ----------
    sample : GibbsSample
        The sample; it is not modified.
    n_positive : int
        Number of incomplete rows that are places drawn from the law, labelled or test.
    n_rows : int
        Number of rows that lose values.
    share : float
        Share of its values that each of them loses.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of shape (n, n_features)
        A copy of ``sample.X``; NaN where hidden.

    Notes
    -----
    **Assumes** that every drawn place is a true positive. With ``replace=False`` there are exactly
    100 of them and `n_positive` may run from 0 to 100, as in the paper's Figure 2.

    References
    ----------
    Paper 004, section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> sample = make_gibbs(replace=False, random_state=0)
    >>> hidden = hide_gibbs_rows(sample, n_positive=80, random_state=1)
    >>> int(np.isnan(hidden[sample.drawn]).any(axis=1).sum())
    80
    """
    return hide_in_rows(
        sample.X,
        sample.drawn,
        n_positive=n_positive,
        n_rows=n_rows,
        share=share,
        random_state=random_state,
    )
