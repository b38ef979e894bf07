"""What the digest, the mixture and the report of scores are meant to cost; shown by table.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CPU = "cpu_seconds"
Goal = tuple[str, str, float, bool, Callable[[Any], float]]


def _quotient(
    top: str, bottom: str, problem: str, below: str = "", name: str = CPU
) -> Callable[[Any], float]:
    """Return a figure of one side over that of another, which may be of another problem."""

    def value(record: Any) -> float:
        pair = record(top, problem), record(bottom, below or problem)
        if not all(one["same"] or one["yardstick"] for one in pair):
            return float("nan")
        return float(pair[0][name] / pair[1][name])

    return value


SCORE_GOALS: tuple[Goal, ...] = (
    *(
        (f"{problem}: {ours} of 10 million scores in plain passes, CPU", "{:.1f}", 10.0, True, cost)
        for problem, ours, cost in (
            ("scores-pass", "digest", _quotient("scarce, digest", "numpy", "scores-pass")),
            (
                "scores-pass",
                "digest from the file",
                _quotient("scarce, digest, streamed file", "numpy, file", "scores-pass"),
            ),
            ("scores-fit", "mixture", _quotient("scarce", "numpy, one pass", "scores-fit")),
            (
                "scores-fit",
                "mixture from the file",
                _quotient("scarce, streamed file", "numpy, one pass, file", "scores-fit"),
            ),
            (
                "scores-estimate",
                "report",
                _quotient("scarce", "numpy, one pass", "scores-estimate"),
            ),
            (
                "scores-estimate",
                "report from the file",
                _quotient("scarce, streamed file", "numpy, one pass, file", "scores-estimate"),
            ),
        )
    ),
    (
        "scores-em: times faster than EM in NumPy, CPU",
        "{:.0f}",
        1000.0,
        False,
        _quotient("numpy, EM", "scarce", "scores-em"),
    ),
    (
        "scores-unlabelled: times faster than scikit-learn's GaussianMixture, CPU",
        "{:.0f}",
        100.0,
        False,
        _quotient("scikit-learn, GaussianMixture", "scarce", "scores-unlabelled"),
    ),
    *(
        (
            f"{problem}: peak memory of 100 million scores over that of 10 million",
            "{:.2f}",
            1.2,
            True,
            _quotient(
                "scarce, streamed file",
                "scarce, streamed file",
                f"{problem}-1e8",
                problem,
                "peak_extra_mb",
            ),
        )
        for problem in ("scores-fit", "scores-estimate")
    ),
    (
        "scores-estimate-1e4: report of 10,000 scores, CPU seconds",
        "{:.3f}",
        0.05,
        True,
        lambda record: record("scarce", "scores-estimate-1e4")[CPU],
    ),
)
