"""Engines: who runs the blocks of a fold, or the fits of a grid. The answer has the same bits.

An engine is None (in this thread), "threads", "processes", any `concurrent.futures.Executor`, or a
Dask client, which joins through `Client.get_executor()`. Tasks are handed out in order with a
bounded number under way, and results are taken in the order of the tasks, never of arrival.

Every task runs with one BLAS thread: parallelism is across tasks, otherwise the order of additions
would depend on the core count. The promise of equal bits holds on processors of one kind, because
BLAS picks other kernels on another kind.

A forked process inherits no threads and no pools of its parent: it starts its own at first use.
"""

from __future__ import annotations

import inspect
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from functools import lru_cache
from itertools import product
from multiprocessing import current_process, get_context
from multiprocessing.util import Finalize
from typing import Any, NoReturn
from weakref import WeakSet

import scipy.linalg  # noqa: F401  (loads SciPy's own BLAS before the libraries are counted)
from threadpoolctl import ThreadpoolController

from scarce.engine.machine import usable_cores
from scarce.errors import Argument, ScarceError, UsageError, WorkerError, suggest

Engine = None | str | Executor | Any
Progress = Callable[..., None]  # (done, total), or (done, total, words)

NAMED = ("threads", "processes")
GUARD = (
    "Other processes import the script again: put what it does under if __name__ == '__main__':, "
    "or use {threads}."
)
KNOWN = (
    "Give None, 'threads', 'processes', 'threads:4', a concurrent.futures.Executor or a Dask "
    "client."
)
UNDER_WAY = 4  # tasks handed out ahead, per worker: keeps workers busy, bounds results in memory


# --- one BLAS thread ------------------------------------------------------------------------------


class _OneBlasThread:
    """Re-entrant switch: the first to enter sets one BLAS thread, the last to leave sets it back.

    Most BLAS libraries have one setting per process: it is counted under a lock over all threads.
    Those built on OpenMP have one per thread, which each thread sets for itself. Entering and
    leaving cost a few microseconds; threadpoolctl's own context manager costs twenty.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all = _Setting()
        self._own = threading.local()

    def __enter__(self) -> None:
        of_process, of_thread = _blas_libraries()
        with self._lock:
            self._all.enter(of_process)
        self._mine().enter(of_thread)

    def __exit__(self, *_: object) -> None:
        of_process, of_thread = _blas_libraries()
        with self._lock:
            self._all.leave(of_process)
        self._mine().leave(of_thread)

    def _mine(self) -> _Setting:
        if not hasattr(self._own, "setting"):
            self._own.setting = _Setting()
        setting: _Setting = self._own.setting
        return setting

    def after_fork(self) -> None:
        """Forget the parent's other threads: they may have been inside, or have held the lock."""
        self._lock = threading.Lock()
        if self._all.inside:
            self._all.keep(self._mine().inside, _blas_libraries()[0])

    def __reduce__(self) -> str:
        return "one_blas_thread"


class _Setting:
    """How many are inside, and what was set before the first came in."""

    def __init__(self) -> None:
        self.inside = 0
        self.before: list[int] = []

    def enter(self, libraries: list[_Library]) -> None:
        self.inside += 1
        if self.inside == 1:
            self.before = [get() for get, _ in libraries]
            for (_, put), threads in zip(libraries, self.before, strict=True):
                if threads != 1:
                    put(1)

    def leave(self, libraries: list[_Library]) -> None:
        self.inside -= 1
        if self.inside == 0:
            self._put_back(libraries)

    def keep(self, inside: int, libraries: list[_Library]) -> None:
        """Count only so many as still inside."""
        self.inside = inside
        if inside == 0:
            self._put_back(libraries)

    def _put_back(self, libraries: list[_Library]) -> None:
        for (_, put), threads in zip(libraries, self.before, strict=True):
            if threads != 1:
                put(threads)


_Library = tuple[Callable[[], int], Callable[[int], Any]]


@lru_cache(maxsize=1)
def _blas_libraries() -> tuple[list[_Library], list[_Library]]:
    """Return the libraries with one setting per process, and those with one per thread."""
    of_process, of_thread = [], []
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        if getattr(library, "threading_layer", "") == "openmp":
            of_thread.append((library.get_num_threads, library.set_num_threads))
        else:
            of_process.append(_own_functions(library))
    return of_process, of_thread


def _own_functions(library: Any) -> _Library:
    """Return the functions that read and set a library's threads, OpenBLAS's own where it is that.

    threadpoolctl 3.8 lets only the first thread that asks change OpenBLAS, and ignores the
    others without a word. Our count is taken under a lock, so any thread may. Calling the library
    itself is also several times quicker, which thousands of small folds feel.
    """
    for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
        get = getattr(library.dynlib, f"{prefix}openblas_get_num_threads{suffix}", None)
        put = getattr(library.dynlib, f"{prefix}openblas_set_num_threads{suffix}", None)
        if get is not None and put is not None:
            return get, put
    return library.get_num_threads, library.set_num_threads


one_blas_thread = _OneBlasThread()


# --- which executor -------------------------------------------------------------------------------


class _Here(threading.local):
    working = False  # inside a task: folds that the task starts run in its own thread


_here = _Here()
_pools: dict[tuple[str, int], Executor] = {}
_pools_lock = threading.Lock()
_proven: WeakSet[Executor] = WeakSet()  # pools of processes that have finished a task
_parents: list[Executor] = []  # never used and never collected: their locks may be held for ever


def executor_for(engine: Engine) -> Executor | None:
    """Return the executor behind an engine, or None for "in this thread".

    Inside a task the answer is always None: a fold within one of many fits must not wait for the
    pool that is busy with the fits.

    Examples
    --------
    >>> executor_for(None) is None
    True
    >>> executor_for("thread")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: engine='thread' is not known. Did you mean 'threads'? ...
    """
    if engine is None or _here.working:
        return None
    if isinstance(engine, str):
        name, _, count = engine.partition(":")
        if name not in NAMED or (count and not (count.isdigit() and int(count) > 0)):
            raise UsageError(
                "{engine} is not known.{hint}",
                code="unknown-engine",
                engine=Argument("engine", engine),
                hint=suggest(name, NAMED),
                remedy=KNOWN,
            )
        if name == "processes" and getattr(current_process(), "_inheriting", False):
            raise UsageError(
                "{engine} was asked for while a worker imports the script that is run: the script "
                "does its work at import.",
                code="unguarded-script",
                engine=Argument("engine", "processes"),
                threads=Argument("engine", "threads"),
                remedy=GUARD,
            )
        return _pool(name, int(count) if count else usable_cores())
    if hasattr(engine, "get_executor"):  # a Dask client
        executor: Executor = engine.get_executor()
        return executor
    if isinstance(engine, Executor) or hasattr(engine, "submit"):
        given: Executor = engine
        return given
    raise UsageError(
        "{engine} ({kind}) cannot run tasks: it has no submit().",
        code="unknown-engine",
        engine=Argument("engine", engine),
        kind=type(engine).__name__,
        remedy=KNOWN,
    )


def _pool(name: str, workers: int) -> Executor:
    """Return the pool of that kind and size, started at its first use."""
    with _pools_lock:
        pool = _pools.get((name, workers))
        if pool is None:
            # At the end of this process, and before it waits for its workers (which atexit is not).
            Finalize(None, shut_down, exitpriority=100)
            pool = _pools[name, workers] = (
                ThreadPoolExecutor(workers, thread_name_prefix="scarce")
                if name == "threads"
                else ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
            )
        return pool


def shares_files(executor: Executor | None) -> bool:
    """Whether the workers are other processes on this machine, which read its files."""
    return isinstance(executor, ProcessPoolExecutor)


def _forget(executor: Executor) -> None:
    """Drop a broken pool, so that the next call starts a new one."""
    with _pools_lock:
        for key in [key for key, pool in _pools.items() if pool is executor]:
            del _pools[key]


def shut_down() -> None:
    """Stop the pools that named engines started."""
    with _pools_lock:
        pools = list(_pools.values())
        _pools.clear()
    for pool in pools:
        pool.shutdown(cancel_futures=True)


def _after_fork() -> None:
    """Let a forked process start pools of its own: the parent's threads are not in it."""
    global _pools_lock
    _pools_lock = threading.Lock()
    _parents.extend(_pools.values())
    _pools.clear()
    one_blas_thread.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_after_fork)


# --- running tasks in order -----------------------------------------------------------------------


def in_order(
    call: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    *,
    engine: Engine = None,
    name: Callable[[int], str] = "task {}".format,
) -> Iterator[Any]:
    """Yield call(*task) for each task, in the order of the tasks, whoever ran them.

    Parameters
    ----------
    call : callable
        Must be importable by the workers for processes and clusters.
    tasks : iterable of tuple
        Arguments of each call.
    engine : engine
        See the module's header.
    name : callable
        Turns a task's number into words for an error message.

    Raises
    ------
    WorkerError
        When a task raises or its worker dies. Errors of scarce itself pass through unchanged. What
        was still waiting is cancelled.

    Examples
    --------
    >>> list(in_order(pow, [(2, 3), (3, 2)], engine="threads"))
    [8, 9]
    """
    executor = executor_for(engine)
    if executor is None:
        for number, task in enumerate(tasks):
            try:
                result = _at_work(call, task)
            except Exception as error:
                fail(error, name(number))
            yield result
        return
    ahead = UNDER_WAY * _workers(executor)
    waiting: deque[Any] = deque()
    number = 0
    try:
        for task in tasks:
            waiting.append(_submit(executor, call, task, name(number + len(waiting))))
            if len(waiting) >= ahead:
                yield _result(waiting.popleft(), executor, name(number))
                number += 1
        while waiting:
            yield _result(waiting.popleft(), executor, name(number))
            number += 1
    finally:
        for future in waiting:
            future.cancel()


def _submit(executor: Executor, call: Callable[..., Any], task: tuple[Any, ...], name: str) -> Any:
    try:
        return executor.submit(_at_work, call, task)
    except BrokenExecutor as error:
        _forget(executor)
        raise _died(name, executor) from error


def _result(future: Any, executor: Executor, name: str) -> Any:
    try:
        result = future.result()
    except (Exception, CancelledError) as error:
        if isinstance(error, BrokenExecutor):
            _forget(executor)
            raise _died(name, executor) from error
        fail(error, name)
    if isinstance(executor, ProcessPoolExecutor):
        _proven.add(executor)
    return result


def fail(error: BaseException, name: str) -> NoReturn:
    """Raise what the user should read; errors of scarce itself pass as they are."""
    if isinstance(error, ScarceError):
        raise error
    raise _in_words(error, name) from error


def _in_words(error: BaseException, name: str) -> WorkerError:
    if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
        return _died(name)
    text = str(error)
    said = f"{type(error).__name__} {text}".lower()
    if "pickl" in said or "can't get local object" in said:  # the latter is Python 3.13's
        return WorkerError(
            "The work of {task} cannot be sent to another process ({reason}).",
            code="cannot-pickle",
            task=name,
            reason=text,
            threads=Argument("engine", "threads"),
            remedy="Use {threads}, or define the function at the top of a module instead of inside "
            "another function.",
        )
    return WorkerError(
        "Stopped at {task}: {kind}: {reason}. No partial result was kept.",
        code="task-failed",
        task=name,
        kind=type(error).__name__,
        reason=text or "no message",
        here=Argument("engine", None),
        remedy="With {here} the traceback leads to the line.",
    )


def _died(name: str, executor: Executor | None = None) -> WorkerError:
    codes = _exit_codes(executor)
    if 1 in codes and executor not in _proven:
        return WorkerError(
            "The workers stopped with exit code 1 before {task} was done, and before any of them "
            "finished a task: they print their own message.",
            code="unguarded-script",
            task=name,
            threads=Argument("engine", "threads"),
            remedy=GUARD,
        )
    why = "most often: out of memory"
    if codes and -9 not in codes:
        why = f"exit code {min(codes)}; it may have printed a message"
    return WorkerError(
        "A worker died before {task} was done ({why}). No partial result was kept.",
        code="worker-died",
        task=name,
        why=why,
        fewer=Argument("engine", "processes:1"),
        threads=Argument("engine", "threads"),
        remedy="Use fewer workers, such as {fewer}, or {threads}.",
    )


def _exit_codes(executor: Executor | None) -> set[int]:
    """Return how the workers of a broken pool of processes ended, as far as that is known."""
    workers = list((getattr(executor, "_processes", None) or {}).values())
    late = time.monotonic() + 2.0  # the pool is still collecting them
    while any(worker.exitcode is None for worker in workers) and time.monotonic() < late:
        time.sleep(0.01)
    # SIGTERM is how the pool itself ends those that were left.
    return {worker.exitcode for worker in workers} - {None, 0, -signal.SIGTERM}


def _at_work(call: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    """Run one task in a worker: one BLAS thread, and no pools within pools."""
    before = _here.working
    _here.working = True
    try:
        with one_blas_thread:
            return call(*task)
    finally:
        _here.working = before


def _workers(executor: Executor) -> int:
    workers = getattr(executor, "_max_workers", None)
    return workers if isinstance(workers, int) and workers > 0 else 8


def _call(fit: Callable[[], Any]) -> Any:
    return fit()


def with_words(progress: Progress) -> Callable[[int, int, str], None]:
    """Return a callback that also takes words, of one that takes them or only (done, total).

    Examples
    --------
    >>> told = []
    >>> with_words(lambda done, total: told.append((done, total)))(1, 4, "logit, fit 1 of 4")
    >>> with_words(lambda *said: told.append(said))(2, 4, "logit, fit 2 of 4")
    >>> told
    [(1, 4), (2, 4, 'logit, fit 2 of 4')]
    """
    try:
        inspect.signature(progress).bind(0, 0, "")
    except TypeError:
        return lambda done, total, words: progress(done, total)
    except ValueError:  # a builtin without a signature
        return lambda done, total, words: progress(done, total)
    return progress


def many(
    fits: Iterable[Callable[[], Any]],
    engine: Engine = None,
    *,
    progress: Progress | None = None,
) -> list[Any]:
    """Run many independent fits (grids, folds, species, bootstrap) and keep their order.

    Parameters
    ----------
    fits : iterable of callables without arguments
        For instance `functools.partial(fit_one, X, y, ridge=0.1)`. For processes and clusters each
        must be importable there, and carries its data along: give rows of a file rather than arrays
        when the data are large.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs them.
    progress : callable, optional
        Called as progress(done, total) after each fit.

    Returns
    -------
    list
        What each fit returned, in the order given.

    Examples
    --------
    >>> from functools import partial
    >>> many([partial(pow, 2, n) for n in range(5)], engine="threads")
    [1, 2, 4, 8, 16]
    """
    todo = list(fits)
    total = len(todo)
    results = []
    for result in in_order(
        _call,
        ((fit,) for fit in todo),
        engine=engine,
        name=lambda number: f"fit {number + 1:,} of {total:,}",
    ):
        results.append(result)
        if progress is not None:
            progress(len(results), total)
    return results
