"""Cases for the fuzz: a command, its input files with one of them damaged, and the verdict.

A case is well if the verb ends with 0 or 3 (4 too for a check), says so in sentences, leaves no
file but a whole output, and changes no input. Made from its number alone. Who runs many: fuzz.py.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.cli.damage import FORMS, OF_TABLES, Cells, to_file, to_text
from tests.cli.damage_bytes import OF_BYTES, OF_TEXT, OF_TOML, resealed

COSTS = b"false_alarm = 5\nmiss = 400\nabstain = 3\n"
COSTS_OF_CLASSES = (
    b'classes = [0, 1]\n[costs.pass]\n0 = 0\n1 = "0.8 * amount"\n[costs.block]\n0 = 5\n1 = 0\n'
)
SETTINGS = b"[scarce]\nlevel = 0.8\n\n[decide]\nmiss = 300\n\n[fit]\nseed = 3\n"

# {name} is an input that may be damaged, {name!} one that is not; {out:name} is the output.
RECIPES: dict[str, list[str]] = {
    "fit": [
        "fit {train} --label fraud --drop id --model rare --loss logistic --ridge 0.01"
        " --out {out:f.scarce}",
        "fit {train} --label fraud --positive 1 --drop id --model bayes --out {out:f.scarce}"
        " --json",
        "fit - --label fraud --model auto --dry-run --out no.scarce --json < {train}",
        "fit {sightings} --label seen --drop site --model maxent --out {out:f.scarce}",
    ],
    "predict": [
        "predict {model} {new} --out {out:q.csv}",
        "predict {model} {new} --out {out:q.parquet} --json",
        "predict {model} {new}",
        "predict {model!} - < {new}",
        "predict {bayes} {test} --id id --out {out:q.csv}",
    ],
    "correct": [
        "correct {p} --prob prob --trained-at 0.13 --now-at 0.015 --out {out:q.csv}",
        "correct - --prob prob --trained-at 0.13 --now-at 0.015 < {p}",
        "correct {model} --now-at 0.015 --out {out:c.scarce} --json",
    ],
    "calibrate": [
        "calibrate {p} --prob prob --label fraud --out {out:q.csv}",
        "calibrate {model} {test} --label fraud --out {out:c.scarce} --json",
        "calibrate {p!} --label fraud --new {p} --method platt --as cal --out {out:q.csv}",
    ],
    "estimate": [
        "estimate {scores} --score score --label label --threshold 2.5 --json",
        "estimate {scores} --score score --label label --threshold 2.5 --also 2.0",
        "estimate - --score score --label label --threshold 2.5 < {scores}",
        "estimate {scores} --score score --label label --threshold 2.5 --batch week --json",
        "estimate {scores!} --score score --label label --threshold 2.5 --audit {todo}",
        "estimate {scores} --score score --label label --threshold 2.5 --audit {todo!} --id id",
    ],
    "decide": [
        "decide {p} --prob prob --false-alarm 5 --miss 400 --abstain 3 --out {out:d.csv}",
        "decide {p} --prob prob --costs {costs} --out {out:d.parquet} --json",
        "decide {p} --prob prob --costs {bycost} --out {out:d.csv}",
        "decide {p} --prob prob --false-alarm 5 --miss amount",
        "decide - --prob prob --false-alarm 5 --miss 400 --to arrow < {p}",
    ],
    "label": [
        "label {scores} --score score --label label --threshold 2.5 --policy audit --n 20"
        " --out {out:todo.csv}",
        "label {scores} --score score --label label --policy random --n 5 --out {out:todo.csv}"
        " --json",
        "label {p} --prob prob --policy uncertainty --n 5",
    ],
    "evaluate": [
        "evaluate {p} --prob prob --label fraud --json",
        "evaluate {p} --prob prob --label fraud --costs {costs}",
        "evaluate {model} {test} --label fraud",
        "evaluate - --prob prob --label fraud --groups id < {p}",
    ],
    "compare": [
        "compare {train} --label fraud --drop id --models logistic,bayes --folds 2 --json",
        "compare {test} {model} {bayes} --label fraud",
        "compare {train} --label fraud --models bayes --folds 2 --costs {costs}",
    ],
    "check": [
        "check {p} --prob prob --label fraud --max-log-loss 0.5",
        "check {p} --prob prob --label fraud --max-brier 0.2 --json",
        "check {scores} --score score --label label --threshold 2.5 --min-precision 0.1",
        "check {model} {test} --label fraud --max-log-loss 0.9 --by value",
    ],
    "report": [
        "report {model} {test} --label fraud --out {out:r.html}",
        "report {p} --prob prob --label fraud --costs {costs} --out {out:r.html} --json",
        "report {scores} --score score --label label --threshold 2.5 --out {out:r.html}",
    ],
    "doctor": ["doctor --json"],
}
OTHER_CODES = {"check": {4}}
# Values for flags; flags that decide where the result goes are left as they are.
ODD_VALUES = ["", " ", "0", "-1", "2", "7", "0.5", "1", "nan", "inf", "-inf", "1e308", "1e-300"]
ODD_VALUES += ["abc", "id", "prob", "fraud", "é", "a,b", "=", "x=1", "1=2", "-", "*", "[", "0,5"]
ODD_VALUES += ["auto", "None", "none", "true", "rare", "p.csv", "train.csv", "'", '"', "%", "\\"]
FIXED_FLAGS = {"--out", "--json", "--force", "--dry-run", "--to", "--help", "--repeats", "--plan"}
PYTHON = re.compile(
    r"open_rows|\b(?:numpy|pandas|sklearn)\b|\bpyarrow\.[a-z]|\b[a-z]+_[a-z]+\(|ArrowInvalid"
    r"|<\w+ object"
    r"|(?<![\w-])[a-z_]+=[\['\"\d(TFN.]"
)
PLACE = re.compile(r"\{(out:)?([\w.]+)(!?)\}")


# --- the files before damage ----------------------------------------------------------------------


@functools.cache
def tables() -> dict[str, Cells]:
    """Small tables with the columns of those that `scarce demo` writes."""
    rng = Random(7)
    features = ["amount", "hour", "distance", "age", "tempo", "device"]

    def payments(n: int, share: float) -> Iterator[list[str]]:
        for row in range(n):
            fraud = rng.random() < share
            values = [f"{rng.gauss(1.2 * fraud, 1):.4g}" for _ in features]
            values[0] = f"{rng.expovariate(1 / (60 + 80 * fraud)):.2f}"
            yield [str(1000 + row), *values, str(int(fraud))]

    train = Cells(["id", *features, "fraud"], list(payments(200, 0.25)))
    test = Cells(["id", *features, "fraud"], list(payments(160, 0.1)))
    new = Cells(["id", *features], [row[:-1] for row in payments(80, 0.1)])
    given = [
        [row[0], row[1], f"{1 / (1 + 2.7 ** (2.5 - float(row[3]) - float(row[5]))):.5f}", row[-1]]
        for row in test.rows
    ]
    scores, sightings = [], []
    for row in range(300):
        event = rng.random() < 0.15
        score = rng.gauss(2.6 * event, 1)
        label = str(int(event)) if score >= 2.5 else ""
        scores.append([str(row), f"{score:.4f}", label, str(1 + row % 4)])
    for row in range(150):
        x = [rng.gauss(0, 1) for _ in range(3)]
        cells = ["" if rng.random() < 0.2 else f"{value:.3f}" for value in x]
        sightings.append([str(row), *cells, "1" if x[0] + rng.gauss(0, 1) > 1.5 else ""])
    below = [row for row in scores if not row[2]]
    todo = [
        [row[0], *row[:2], "01"[rng.random() < 0.1], row[3], str(20 / len(below)), "even"]
        for row in rng.sample(below, 20)
    ]
    return {
        "train": train,
        "test": test,
        "new": new,
        "p": Cells(["id", "amount", "prob", "fraud"], given),
        "scores": Cells(["id", "score", "label", "week"], scores),
        "todo": Cells(["row", "id", "score", "label", "week", "inclusion", "policy"], todo),
        "sightings": Cells(["site", "temperature", "rain", "forest", "seen"], sightings),
    }


@functools.cache
def models() -> dict[str, bytes]:
    """Two fitted models, as the bytes of their files."""
    from scarce import GaussianBayes, RareClassifier, open_rows, save

    made = {}
    with tempfile.TemporaryDirectory() as folder:
        data, path = Path(folder, "train.csv"), Path(folder, "m.scarce")
        data.write_bytes(to_text(tables()["train"]))
        rows = open_rows(data, label="fraud", drop=["id"])
        for name, model in (("model", RareClassifier(loss="logistic")), ("bayes", GaussianBayes())):
            save(model.fit(rows), path)
            made[name] = path.read_bytes()
    return made


# --- a case ---------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A command and its files; `says` tells what was done to which of them."""

    verb: str
    number: int
    words: list[str]
    files: dict[str, bytes]
    stdin: str | None
    out: str | None
    says: str
    codes: frozenset[int] = frozenset({0, 3})


def make_case(verb: str, number: int, seed: int = 0) -> Case:
    """Make a case from its number alone: the same number gives the same bytes.

    A negative number takes a recipe with no damage: -1 the first one, and so on.
    """
    rng = Random(f"{seed} {verb} {number}")
    recipe = rng.choice(RECIPES[verb]) if number >= 0 else RECIPES[verb][-1 - number]
    inputs = [name for out, name, mark in PLACE.findall(recipe) if not (out or mark)]
    victim = "settings" if not inputs or rng.random() < 0.06 else rng.choice(inputs)
    victim = "flags" if number % 10 == 9 else victim
    victim = victim if number >= 0 else ""
    files: dict[str, bytes] = {}
    says = ""
    named: dict[str, str] = {}
    for out, name, _ in PLACE.findall(recipe):
        if not out:
            file, raw, done = _make_file(rng, name, damaged=name == victim)
            files[file], named[name] = raw, file
            says += f"{file}: {done}. " if name == victim else ""
    if victim == "settings":
        _, files["scarce.toml"], done = _make_file(rng, "settings", damaged=True)
        says = f"scarce.toml: {done}. "
    command, _, stdin = recipe.partition(" < ")
    words = [PLACE.sub(lambda m: m[2] if m[1] else named[m[2]], word) for word in command.split()]
    outs = [name for mark, name, _ in PLACE.findall(recipe) if mark]
    fed = named[PLACE.findall(stdin)[0][1]] if stdin else None
    codes = {0, 3} | OTHER_CODES.get(verb, set())
    if victim == "settings":
        codes |= {2}  # settings are options: good ones may not go together with what is typed
    if victim == "flags":
        more = _odd_flags(rng, verb)
        words, says, codes = [*words, *more], f"flags: {' '.join(more)}", codes | {2}
    return Case(
        verb, number, words, files, fed, outs[0] if outs else None, says.strip(), frozenset(codes)
    )


def _odd_flags(rng: Random, verb: str) -> list[str]:
    """Return one or two options of the verb with values that hardly suit them."""
    import click

    from scarce.cli.main import scarce

    command = scarce.get_command(click.Context(scarce), verb)
    assert command is not None
    options = [o for o in command.params if isinstance(o, click.Option)]
    options = [o for o in options if not FIXED_FLAGS & {*o.opts}]
    words = []
    for option in rng.sample(options, min(rng.choice([1, 1, 2]), len(options))):
        words.append(option.opts[-1])
        if not option.is_flag:
            choices = getattr(option.type, "choices", ())
            words.append(rng.choice([*ODD_VALUES, *choices, *choices]))
    return words


def _make_file(rng: Random, name: str, *, damaged: bool) -> tuple[str, bytes, str]:
    """Return a file's name, its bytes, and what was done to it."""
    if name in ("costs", "bycost", "settings"):
        raw = {"costs": COSTS, "bycost": COSTS_OF_CLASSES, "settings": SETTINGS}[name]
        ways = OF_TOML if rng.random() < 0.75 else OF_BYTES | OF_TEXT
        done, raw = _damage(rng, raw, ways, rng.choice([1, 1, 2])) if damaged else ("", raw)
        return f"{name}.toml", raw, done
    if name in models():
        raw = models()[name]
        if damaged and rng.random() < 0.5:
            return f"{name}.scarce", resealed(rng, raw), "other content, right checksum"
        done, raw = _damage(rng, raw, OF_BYTES, 1) if damaged else ("", raw)
        return f"{name}.scarce", raw, done
    cells = tables()[name].copy()
    form = rng.choice(FORMS) if damaged and rng.random() < 0.5 else "csv"
    if not damaged:
        return f"{name}.csv", to_file(cells, form), ""
    kind = rng.random()
    done = []
    if kind < 0.7:
        for way in rng.sample(sorted(OF_TABLES), rng.choice([1, 1, 1, 2, 3])):
            cells = OF_TABLES[way](rng, cells)
            done.append(way)
    raw = to_file(cells, form, rng if rng.random() < 0.3 else None)
    if kind > 0.6:
        ways = OF_BYTES | (OF_TEXT if form in ("csv", "tsv") else {})
        word, raw = _damage(rng, raw, ways, rng.choice([1, 1, 2]))
        done.append(word)
    ending = "arrow" if form == "stream" else form
    if rng.random() < 0.08:
        ending = rng.choice(["csv", "parquet", "arrow", "csv.gz", "txt", "tsv.gz", "csv.zst", "x"])
    return f"{name}.{ending}", raw, f"{', '.join(done)} (as {form})"


def _damage(rng: Random, raw: bytes, ways: dict[str, Any], times: int) -> tuple[str, bytes]:
    done = [rng.choice(sorted(ways)) for _ in range(times)]
    for way in done:
        raw = ways[way](rng, raw)
    return ", ".join(done), raw


# --- running and judging it -----------------------------------------------------------------------


class Verdict(NamedTuple):
    """How a case ended; well if nothing is complained of."""

    verb: str
    number: int
    code: int
    complaints: list[str]
    message: str
    says: str
    command: str
    seconds: float


def run_case(case: Case, folder: Path) -> Verdict:
    """Run a case in an empty folder, in this process, and judge what it did."""
    from click.testing import CliRunner

    from scarce.cli.main import scarce

    for name, raw in case.files.items():
        (folder / name).write_bytes(raw)
    stdin = case.files[case.stdin] if case.stdin else b""
    command = " ".join(["scarce", *case.words]) + (f" < {case.stdin}" if case.stdin else "")
    begun = time.monotonic()
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("default")
        result = CliRunner().invoke(scarce, case.words, input=stdin, prog_name="scarce")
    seconds = time.monotonic() - begun
    out, err = result.stdout_bytes, result.stderr
    complaints = list(_complaints(case, result.exit_code, out, err, folder))
    message = err.strip().splitlines()[-1] if err.strip() else ""
    if result.exit_code and "--json" in case.words:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            message = "scarce: " + json.loads(out)["error"]["message"]
    if result.exit_code in (1, 2, 3):
        words = of_words(message)
        typed = case.says.startswith("flags")  # what was typed may look like Python
        complaints += [word for word in words if not (typed and word.startswith("Python"))]
    return Verdict(
        case.verb, case.number, result.exit_code, complaints, message, case.says, command, seconds
    )


def _complaints(case: Case, code: int, out: bytes, err: str, folder: Path) -> Iterator[str]:
    if code not in case.codes:
        yield f"exit code {code}"
    if "Traceback (most recent" in err:
        yield "a traceback"
    leak = re.search(r"^.*?(\w+Warning): (.*)$", err, re.MULTILINE)
    if leak:
        yield f"a warning about code, {leak[1]}: {leak[2][:60]}"
    there = {path.name for path in folder.iterdir()}
    if there - set(case.files) - {case.out}:
        yield "a file is left over"
    if case.out and (case.out in there) != (code == 0):
        yield "an output without code 0" if code else "code 0 without an output"
    if any((folder / name).read_bytes() != raw for name, raw in case.files.items()):
        yield "an input was changed"
    if "--json" in case.words:
        try:
            record = json.loads(out)
        except ValueError:
            yield "stdout is not one JSON object"
        else:
            if record.get("ok") != (code == 0) or record.get("schema") != 1:
                yield "JSON that disagrees with the code"
    if code == 0 and case.verb in ("predict", "decide", "correct", "calibrate") and case.out:
        yield from _of_probabilities(folder / case.out)


def _whole(said: str) -> bool:
    """Whether a message ends as a sentence or a command does."""
    return said[-1] in ".?)" or bool(re.search(r": (?:scarce|pip|mkdir|.*--)[^:]*$", said))


def of_words(message: str) -> Iterator[str]:
    """Complain of a message that a person in a hurry cannot act on."""
    said = re.sub(r" \[[a-z0-9-]+\]$", "", message.removeprefix("scarce: "))
    if not said or said == message:
        yield "no sentence on stderr"
    elif len(said) > 900:
        yield "a message of over 900 characters"
    elif any(ord(c) < 32 or ord(c) == 127 for c in said):
        yield "control characters in a message"
    elif not _whole(re.sub(r" \[[a-z-]+\]$", "", said)):
        yield "a message that ends in the middle"
    if "toml'" in said or "is no valid" in said:  # a file's own words look like this
        return
    mark = PYTHON.search(re.sub(r"'[^']*'", "", said))
    if mark:
        yield f"Python in a message: {mark[0]}"


def _of_probabilities(path: Path) -> Iterator[str]:
    """Complain of an output that cannot be read back, or of a probability that is none."""
    import pyarrow.csv
    import pyarrow.parquet

    if path.suffix not in (".csv", ".parquet"):
        return
    try:
        if path.suffix == ".csv":
            given = pyarrow.csv.read_csv(
                path, parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)
            )
        else:
            given = pyarrow.parquet.read_table(path)
    except Exception as error:
        yield f"an output that cannot be read: {str(error)[:60]}"
        return
    for name in given.column_names:
        if name.startswith("prob") and given.column_names.count(name) == 1:
            for value in given[name].to_pylist():
                if isinstance(value, float) and not 0 <= value <= 1:
                    yield f"a probability of {value}"
                    return


def quiet_folder() -> str | None:
    """Return a folder in memory where there is one: every output is synced to its disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
