"""Does the test of label shift keep its level where the validation rows were held out?

    python -m experiments.base_rates.held_out          writes held_out.md

run.py validates with left-out predictions of folds, which are those of other fits than today's: the
test takes the difference for a change. Here 60 % of each table are halved, to train and to
validate, by one fit, and the rest is today, thinned to odds x 3 and / 3 (12 tables, 3 classifiers,
6 splits; validations of less than five events are left out).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from experiments.base_rates.run import FACTORS, MOST_ROWS, SEED, models, rows_of, thinned
from scarce import estimate_share
from scarce.datasets import dataset_names

SPLITS = 6


def alarms() -> dict[str, list[tuple[bool, bool]]]:
    """Return, by classifier, whether the test spoke and whether the interval held the share."""
    found: dict[str, list[tuple[bool, bool]]] = {}
    for name in dataset_names("uci"):
        print(name, file=sys.stderr)
        for seed in range(SPLITS):
            X, y = rows_of(name, seed, MOST_ROWS)
            own, test, of_own, of_test = train_test_split(
                X, y, test_size=0.4, stratify=y, random_state=seed
            )
            train, valid, of_train, of_valid = train_test_split(
                own, of_own, test_size=0.5, stratify=of_own, random_state=seed
            )
            if of_valid.sum() < 5:
                continue
            for kind, model in models(seed).items():
                prob = model.fit(train, of_train).predict_proba(valid)
                given = model.predict_proba(test)
                for factor in FACTORS:
                    rows = thinned(of_test, factor, np.random.default_rng([SEED, seed]))
                    one = estimate_share(given[rows], validation=(of_valid, prob))
                    said = (one.p_value <= 0.05, float(of_test[rows].mean()) in one.share)
                    found.setdefault(kind, []).append(said)
    return found


def main() -> None:
    """Write the page."""
    found = alarms()
    found["all"] = [one for held in found.values() for one in held]
    lines = [
        "# The test of label shift with held-out validation rows",
        "",
        "`python -m experiments.base_rates.held_out`: false alarms at 5 %, and how often the 90 % "
        "interval holds the share of today's rows.",
        "",
        "| classifier | cases | false alarms | standard error | interval holds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for kind, held in found.items():
        said, kept = np.mean(held, axis=0)
        error = np.sqrt(said * (1 - said) / len(held))
        lines.append(f"| {kind} | {len(held)} | {said:.3f} | {error:.3f} | {kept:.3f} |")
    page = Path(__file__).with_name("held_out.md")
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines[4:]))


if __name__ == "__main__":
    main()
