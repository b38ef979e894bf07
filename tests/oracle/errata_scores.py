"""Errata of paper 002: what do its formulas and sentences give on its own figures?

    python -m tests.oracle.errata_scores

prints the numbers that docs/errata.md quotes. One function for each erratum; it returns a dict of
numbers. Informations are sums over a fine grid of scores, from normal densities alone: nothing of
the package is used. Parameters are share, mean 0, variance 0, mean 1, variance 1.
"""

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

MEANS = (2.0, 3.88)  # of the paper's Figure 1; variances are 1
N_ROWS, N_LABELS = 1_000_000, 1000


def label_scores(share, s, means=MEANS):
    """Derivatives of the log likelihood of one row: as a negative, and as a positive; (5, n)."""
    nothing = np.zeros_like(s)
    away = [s - mean for mean in means]
    own = [np.array([a, 0.5 * (a**2 - 1)]) for a in away]
    negative = np.array([nothing - 1 / (1 - share), *own[0], nothing, nothing])
    positive = np.array([nothing + 1 / share, nothing, nothing, *own[1]])
    return negative, positive


def informations(share, means=MEANS):
    """Information of one row: without a label, of a labelled negative, of a labelled positive."""
    s = np.linspace(min(means) - 10, max(means) + 10, 40_001)
    step = s[1] - s[0]
    density = [norm.pdf(s, mean) for mean in means]
    p = (1 - share) * density[0] + share * density[1]
    negative, positive = label_scores(share, s, means)
    both = ((1 - share) * density[0] * negative + share * density[1] * positive) / p
    parts = ((both, p), (negative, density[0]), (positive, density[1]))
    return [step * (score * weight) @ score.T for score, weight in parts]


def information(share, design):
    """Information of Figure 1's rows: labels drawn at random, or half of them from each class."""
    bare, negative, positive = informations(share)
    n_positive = N_LABELS * share if design == "random" else min(N_LABELS / 2, N_ROWS * share)
    labelled = n_positive * positive + (N_LABELS - n_positive) * negative
    return labelled + (N_ROWS - N_LABELS) * bare  # the paper's count: the rest stays a fair mix


# --- section 4 ------------------------------------------------------------------------------------


def equation_4():
    """Information of one row on mean 0, labels above 4: with eq 4 as printed, and right.

    printed: -(p0' / p0)^2 + p0' / p0 for a labelled negative, the last derivative to the first
    power; right: p0'' / p0. Rows without a label as printed, Figure 1's mixture at a share of .1.
    """
    share, threshold = 0.1, 4.0

    def unlabelled(s):
        p0, p1 = (norm.pdf(s, mean) for mean in MEANS)
        p = (1 - share) * p0 + share * p1
        posterior, first = (1 - share) * p0 / p, s - MEANS[0]  # first: p0' / p0
        return p * (posterior**2 * first**2 - posterior * (first**2 - 1))

    def labelled(s, last):
        first = s - MEANS[0]
        return (1 - share) * norm.pdf(s, MEANS[0]) * (first**2 - last(first))

    below, _ = quad(unlabelled, -8.0, threshold, epsabs=1e-12)
    printed, _ = quad(labelled, threshold, 14.0, args=(lambda first: first,), epsabs=1e-12)
    right, _ = quad(labelled, threshold, 14.0, args=(lambda first: first**2 - 1,), epsabs=1e-12)
    return {"printed": below + printed, "right": below + right}


def one_positive_label():
    """How many rows tell as much about the share as one positive label, the classes far apart.

    printed: 1 / share^2 rows without a label or with a negative one. Classes 20 deviations apart.
    """
    share = 0.01
    bare, negative, positive = (one[0, 0] for one in informations(share, (0.0, 20.0)))
    return {
        "printed": share**-2,
        "negative_labels": float(positive / negative),
        "unlabelled": float(positive / bare),
    }


def footnote_1():
    """Cross terms of the information in units of the diagonal, random labels, at two shares.

    printed: as the share gets small, much more between the share and the background's parameters
    and less between others.
    """

    def cosines(share):
        found = information(share, "random")
        size = np.sqrt(np.diag(found))
        return found / np.outer(size, size)

    some, few = cosines(0.3), cosines(0.001)
    loss = np.sqrt(np.diag(information(0.001, "random")) * _joint(0.001))
    return {
        "mean_0": np.array([some[0, 1], few[0, 1]]),
        "mean_1": np.array([some[0, 3], few[0, 3]]),
        "error_times": loss,
    }


def _joint(share):
    return np.diag(np.linalg.inv(information(share, "random")))


def figure_1():
    """How often the information falls by as the share goes from .1 to .0001, two ways of labelling.

    printed: with half of the labels from the positive class the fall is much slower for mean 0.
    """
    fall = {
        design: np.diag(information(0.1, design)) / np.diag(information(0.0001, design))
        for design in ("random", "equal")
    }
    return {
        "mean_0_random": fall["random"][1],
        "mean_0_equal": fall["equal"][1],
        "mean_1_random": fall["random"][3],
        "mean_1_equal": fall["equal"][3],
    }


def labelling_rate():
    """How often more the share and the foreground are known by with every row labelled than none.

    printed: about two orders of magnitude for each, at a share of .001.
    """
    bare, negative, positive = informations(0.001)
    ratio = np.diag(0.999 * negative + 0.001 * positive) / np.diag(bare)
    return {"share": ratio[0], "mean_1": ratio[3], "variance_1": ratio[4], "mean_0": ratio[1]}


# --- section 6.2 ----------------------------------------------------------------------------------


def labelled_scores():
    """How many scores are the largest 1/128 of 1424, where the paper labels 12."""
    return {"rows": 1424 / 128, "one_in": 1424 / 12}


ERRATA = (
    equation_4,
    one_positive_label,
    footnote_1,
    figure_1,
    labelling_rate,
    labelled_scores,
)


def main():
    """Print every number, under the first line of what it is about."""
    for erratum in ERRATA:
        print(f"{erratum.__name__}: {erratum.__doc__.splitlines()[0]}")
        for name, value in erratum().items():
            print(f"    {name:22} {value}")


if __name__ == "__main__":
    main()
