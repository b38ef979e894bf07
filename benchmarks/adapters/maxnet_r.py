"""maxnet in R: the fits of the package `maxnet`, which needs glmnet, in an R process of its own.

The process starts and reads the rows before the clock does; a call asks it for one fit and for the
predictions. maxnet fits a logistic regression in which a row of the pool weighs 100 and a presence
1, along 200 penalties of which the last is meant. With the same hinges the presences, which are
rows of the pool already, are not searched for there (addsamplestobackground=F): at its default that
search takes longer than the fit.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.maxents import DefaultsProblem, MaxentProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "maxnet"
GROUP = None
PACKAGES = ("numpy",)
_SAME = ("maxent-1e4", "maxent-1e5")
SIDES = (
    *(
        Side("maxnet, same hinges", (name,), engine="R, this thread", yardstick=name)
        for name in _SAME
    ),
    Side("maxnet", ("maxent-defaults",), engine="R, this thread", yardstick="maxent-defaults"),
)
SCRIPT = """
suppressMessages(library(maxnet))
told <- commandArgs(trailingOnly = TRUE)
columns <- as.integer(told[2])
table_of <- function(name) {
  path <- file.path(told[1], name)
  values <- readBin(path, "double", n = file.size(path) / 8)
  as.data.frame(matrix(values, ncol = columns, byrow = TRUE))
}
presence <- table_of("presence.bin"); pool <- table_of("pool.bin"); asked <- table_of("asked.bin")
data <- rbind(presence, pool)
p <- rep(c(1, 0), c(nrow(presence), nrow(pool)))
fitted <- function(p, data) {
  if (told[3] == "default") maxnet(p, data)
  else maxnet(p, data, maxnet.formula(p, data, classes = "h"), addsamplestobackground = FALSE)
}
few <- c(seq_len(nrow(presence)), nrow(presence) + seq_len(500))
invisible(predict(fitted(p[few], data[few, ]), asked[1:2, ]))
input <- file("stdin", "r")
cat("ready\\n"); flush(stdout())
while (length(line <- readLines(input, n = 1)) > 0) {
  model <- fitted(p, data)
  said <- predict(model, asked, type = "exponential")
  writeBin(as.vector(said), file.path(told[1], "said.bin"))
  cat("done", model$npasses, "\\n"); flush(stdout())
}
"""


@cache
def versions() -> dict[str, str]:
    """Return the versions of R and of its packages; empty where one is missing."""
    if shutil.which("Rscript") is None:
        return {}
    ask = (
        'cat(as.character(getRversion()), as.character(packageVersion("maxnet")),'
        ' as.character(packageVersion("glmnet")))'
    )
    done = subprocess.run(["Rscript", "-e", ask], capture_output=True, text=True)
    if done.returncode != 0:
        return {}
    return dict(zip(("R", "maxnet", "glmnet"), done.stdout.split(), strict=True))


def missing() -> str | None:
    """Return what is to be installed, if anything is."""
    return None if versions() else "no R with maxnet. Install R, then install.packages('maxnet')"


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Start R with the rows and yield the call that asks it for a fit."""
    assert isinstance(problem, MaxentProblem)
    X, y = data.arrays()
    everything = isinstance(problem, DefaultsProblem)
    asked = X if everything else problem.asked(X, y)
    with tempfile.TemporaryDirectory(prefix="scarce-maxnet-") as name:
        folder = Path(name)
        for part, rows in (("presence", X[y == 1.0]), ("pool", X), ("asked", asked)):
            np.ascontiguousarray(rows, dtype=np.float64).tofile(folder / f"{part}.bin")
        (folder / "serve.R").write_text(SCRIPT)
        told = [name, str(problem.columns), "default" if everything else "hinges"]
        with subprocess.Popen(
            ["Rscript", str(folder / "serve.R"), *told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            _reply(process, "ready")
            del X, y, asked  # R has them

            def call() -> Answer:
                assert process.stdin is not None
                process.stdin.write("fit\n")
                process.stdin.flush()
                passes = _reply(process, "done")
                said: Array = np.fromfile(folder / "said.bin")
                if everything:
                    return {"ratio": said}
                return problem.answer([said], int(passes[0]))

            try:
                yield call
            finally:
                process.kill()


def _reply(process: subprocess.Popen[str], word: str) -> list[str]:
    """Read until R says the word, and return what it says after it."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(word):
            return line.split()[1:]
    raise RuntimeError("R ended before it had fitted; its message is above.")
