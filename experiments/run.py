"""Run the experiments and print what the papers say beside what we find.

    python -m experiments.run [name ...] [--quick] [--list]

Each folder with a run.py is an experiment. A full run writes results.json and results.md into the
folder; --quick takes fewer repeats, prints, and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from types import ModuleType

from experiments.frame import FOLDER, Results, results_of, table_of, write_results


def names() -> list[str]:
    """Return the experiments there are."""
    return sorted(path.parent.name for path in FOLDER.glob("*/run.py"))


def experiment(name: str) -> ModuleType:
    """Return an experiment's module: TITLE, SEED and run(quick, progress)."""
    return import_module(f"experiments.{name}.run")


def run(name: str, quick: bool) -> Results:
    """Run one experiment and return its results; progress goes to stderr."""

    def progress(text: str) -> None:
        print(f"  {name}: {text}", file=sys.stderr, flush=True)

    module = experiment(name)
    return results_of(name, module.TITLE, module.SEED, module.run(quick, progress))


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m experiments.run", description=__doc__)
    parser.add_argument("name", nargs="*", help="experiments to run; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer repeats; writes nothing")
    parser.add_argument("--list", action="store_true", help="show the names and stop")
    asked = parser.parse_args(arguments)
    known = names()
    unknown = [name for name in asked.name if name not in known]
    if unknown:
        parser.error(f"no experiment {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = asked.name or known
    if asked.list:
        for name in chosen:
            print(f"{name}: {experiment(name).TITLE}")
        return 0
    for number, name in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {name}", file=sys.stderr, flush=True)
        begin = time.perf_counter()
        results = run(name, asked.quick)
        if not asked.quick:
            write_results(results, FOLDER / name)
        print(table_of(results))
        print(f"  {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
