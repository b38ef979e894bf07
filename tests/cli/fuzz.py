"""What do the verbs do with damaged files? Thousands of seeded cases, each judged.

    python -m tests.cli.fuzz --n 5000                    every verb, two processes
    python -m tests.cli.fuzz --verb decide --case 17 --keep folder    one case, its files kept

A case is a command and its input files, one of them damaged; cases.py says when it is well. A
worker that dies or is silent for half a minute counts as a failure of its case. Failures go to a
folder as JSON lines, and to a page grouped by what was complained of.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path

from tests.cli.cases import RECIPES, Case, Verdict, make_case, models, quiet_folder, run_case

SILENT = 30.0  # seconds after which a case counts as hung
MOST_MEMORY = 6 << 30  # bytes of address space of a worker: damage must not take the machine down


def _work(pipe: Connection, seed: int, log: str) -> None:
    """Run cases as they come; the process ends itself when one is silent too long."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stack = open(log, "w")  # noqa: SIM115 - kept open: a dying process writes its last words here
    os.dup2(stack.fileno(), 1)
    os.dup2(stack.fileno(), 2)
    faulthandler.enable(stack)
    os.environ["SCARCE_CACHE"] = tempfile.mkdtemp(dir=quiet_folder())
    models()
    while (asked := pipe.recv()) is not None:
        stack.truncate(0)
        faulthandler.dump_traceback_later(SILENT, exit=True, file=stack)
        with tempfile.TemporaryDirectory(dir=quiet_folder()) as folder:
            verdict = run_case(make_case(*asked, seed), Path(folder))
        faulthandler.cancel_dump_traceback_later()
        pipe.send(verdict)
    shutil.rmtree(os.environ["SCARCE_CACHE"], ignore_errors=True)


class _Worker:
    def __init__(self, place: int, seed: int, folder: Path) -> None:
        self.log = folder / f"worker-{place}.log"
        self.pipe, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self.process = context.Process(target=_work, args=(theirs, seed, str(self.log)))
        self.process.start()
        theirs.close()
        self.asked: tuple[str, int] | None = None

    def last_words(self) -> str:
        text = self.log.read_text(errors="replace").replace("\x00", "")
        frames = re.findall(r'File "[^"]*?(\w+\.py)", line (\d+) in (\w+)', text)
        said = "hung" if "Timeout" in text else (text.splitlines() or ["died"])[0][:80]
        return f"{said}: {' < '.join(f'{f}:{n} {w}' for f, n, w in frames[:4])}"


def run_many(cases: list[tuple[str, int]], seed: int, jobs: int, folder: Path) -> Iterator[Verdict]:
    """Run cases in worker processes; yields verdicts as they come."""
    left = iter(cases)
    workers = [_Worker(place, seed, folder) for place in range(jobs)]
    busy = {}
    for worker in workers:
        worker.asked = next(left, None)
        worker.pipe.send(worker.asked)
        if worker.asked:
            busy[worker.pipe] = worker
    while busy:
        for pipe in wait(list(busy)):
            worker = busy.pop(pipe)
            try:
                yield pipe.recv()
            except EOFError:
                worker.process.join()
                assert worker.asked is not None
                words = worker.last_words()
                case = make_case(*worker.asked, seed)
                yield Verdict(
                    *worker.asked, worker.process.exitcode or 0, ["the process ended"], words,
                    case.says, " ".join(["scarce", *case.words]), SILENT,
                )  # fmt: skip
                worker = _Worker(workers.index(worker), seed, folder)
                workers.append(worker)
            worker.asked = next(left, None)
            worker.pipe.send(worker.asked)
            if worker.asked:
                busy[worker.pipe] = worker
    for worker in workers:
        worker.process.join(10)


def cause(verdict: Verdict) -> tuple[str, str, str]:
    """Return what cases of one cause share: verb, complaint, and the message without its values."""

    def bare(text: str) -> str:
        text = re.sub(
            r"'[^']*'|\"[^\"]*\"|\b[\w.]+\.(?:csv|tsv|parquet|arrow|txt|x)\S*", "'...'", text
        )
        return re.sub(r"[-+]?\d[\d.,e+-]*", "#", text)

    return (
        verdict.verb,
        re.sub(r"=.*", "=", "; ".join(verdict.complaints)),
        bare(verdict.message)[:60],
    )


def write_page(
    path: Path, failures: list[Verdict], counts: dict[str, collections.Counter[int]]
) -> None:
    """Write the failures, grouped by cause, with a command that shows each."""
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in failures:
        groups.setdefault(cause(verdict), []).append(verdict)
    lines = ["# Damaged inputs: what did not go well", ""]
    for verb, codes in counts.items():
        bad = sum(verdict.verb == verb for verdict in failures)
        ended = ", ".join(f"{code}: {n}" for code, n in sorted(codes.items()))
        lines.append(f"- {verb}: {sum(codes.values())} cases, {bad} failures; exit codes {ended}")
    for (verb, complaint, _), members in sorted(groups.items(), key=lambda g: -len(g[1])):
        one = members[0]
        lines += ["", f"## {verb}: {complaint} ({len(members)} cases)", "", f"    {one.command}"]
        said = one.message[:600].encode("unicode_escape").decode()
        lines += [f"    {said}", f"    {one.says}"]
        numbers = " ".join(str(member.number) for member in members[:8])
        lines += [f"    python -m tests.cli.fuzz --verb {verb} --case {one.number} --keep FOLDER"]
        lines += [f"    cases: {numbers}"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Run what the command line asks for; 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=5000, help="cases per verb")
    parser.add_argument("--verb", action="append", choices=list(RECIPES), help="only this verb")
    parser.add_argument("--case", type=int, help="one case, in this process")
    parser.add_argument("--keep", type=Path, help="with --case: where to leave its files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--again", type=Path, help="only the cases in this file of failures")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--out", type=Path, default=Path("build", "fuzz"), help="folder for results"
    )
    asked = parser.parse_args()
    from scarce.cli.main import VERBS

    verbs = [verb for verb in asked.verb or RECIPES if verb in VERBS]
    if asked.case is not None:
        return _show_one(make_case(verbs[0], asked.case, asked.seed), asked.keep)
    asked.out.mkdir(parents=True, exist_ok=True)
    cases = [(verb, n) for n in range(asked.first, asked.first + asked.n) for verb in verbs]
    if asked.again:
        lines = [json.loads(line) for line in asked.again.read_text(encoding="utf-8").splitlines()]
        cases = sorted({(line["verb"], line["number"]) for line in lines})
    counts: dict[str, collections.Counter[int]] = {verb: collections.Counter() for verb in verbs}
    slowest: dict[str, tuple[float, int]] = dict.fromkeys(verbs, (0.0, 0))
    failures = []
    begun = time.monotonic()
    with open(asked.out / f"failures-{asked.seed}.jsonl", "a", encoding="utf-8") as file:
        for done, verdict in enumerate(run_many(cases, asked.seed, asked.jobs, asked.out), 1):
            counts[verdict.verb][verdict.code] += 1
            took = (verdict.seconds, verdict.number)
            slowest[verdict.verb] = max(slowest[verdict.verb], took)
            if verdict.complaints:
                failures.append(verdict)
                file.write(json.dumps(verdict._asdict()) + "\n")
                file.flush()
            if done % 2000 == 0 or done == len(cases):
                write_page(asked.out / "failures.md", failures, counts)
                spent = time.monotonic() - begun
                print(f"{done:,} cases, {len(failures)} failures, {spent:.0f} s", flush=True)
    for verb in verbs:
        ended = dict(sorted(counts[verb].items()))
        print(f"{verb} {ended} slowest {slowest[verb][0]:.1f} s (case {slowest[verb][1]})")
    return int(bool(failures))


def _show_one(case: Case, keep: Path | None) -> int:
    folder = keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    verdict = run_case(case, folder)
    for name, value in verdict._asdict().items():
        print(f"{name:10} {value}")
    return int(bool(verdict.complaints))


if __name__ == "__main__":
    sys.exit(main())
