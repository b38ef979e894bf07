"""Run the experiments and print what the papers say beside what we find.

    python -m experiments.run [name ...] [--quick] [--list] [--work FOLDER]

Each folder with a run.py is an experiment. A full run writes results.json and results.md into the
folder; --quick takes fewer repeats, prints, and writes nothing. A long experiment keeps what it has
done in its .work folder, or in --work, and goes on from there when it is started again.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

from experiments.frame import FOLDER, Results, results_of, table_of, write_results


def names() -> list[str]:
    """Return the experiments there are."""
    return sorted(path.parent.name for path in FOLDER.glob("*/run.py"))


def experiment(name: str) -> ModuleType:
    """Return an experiment's module: TITLE, SEED and run(quick, progress).

    A long experiment says LONG = True, has run(quick, progress, work) and write(results, folder,
    work), where `work` is the folder for what is done so far.
    """
    return import_module(f"experiments.{name}.run")


def run(name: str, quick: bool, work: Path | None = None) -> Results:
    """Run one experiment and return its results; progress goes to stderr."""

    def progress(text: str) -> None:
        print(f"  {name}: {text}", file=sys.stderr, flush=True)

    module = experiment(name)
    more = (work or kept(name),) if hasattr(module, "LONG") else ()
    return results_of(name, module.TITLE, module.SEED, module.run(quick, progress, *more))


def write(results: Results, work: Path | None = None) -> None:
    """Write what a full run found into the experiment's folder."""
    name = results.name
    module = experiment(name)
    if hasattr(module, "LONG"):
        module.write(results, FOLDER / name, work or kept(name))
    else:
        write_results(results, FOLDER / name)


def kept(name: str) -> Path:
    """Return where a long experiment keeps what it has done."""
    return FOLDER / name / ".work"


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m experiments.run", description=__doc__)
    parser.add_argument("name", nargs="*", help="experiments to run; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer repeats; writes nothing")
    parser.add_argument("--list", action="store_true", help="show the names and stop")
    parser.add_argument("--work", type=Path, help="folder for the work of long experiments so far")
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
        results = run(name, asked.quick, asked.work)
        if asked.quick:
            print(table_of(results))
        else:
            write(results, asked.work)
            print((FOLDER / name / "results.md").read_text(encoding="utf-8"))
        print(f"  {time.perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
