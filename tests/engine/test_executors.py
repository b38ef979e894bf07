"""Engines: same bits from all, one clear error from each, nothing half done."""

import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest

from scarce.engine.executors import executor_for, in_order, many, one_blas_thread
from scarce.engine.memory import ArrayRows
from scarce.errors import DataError, UsageError, WorkerError
from tests.engine import kernels
from tests.problems import refused


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(24 * 2500, 20))
    y = (rng.random(len(X)) < 0.1).astype(float)
    starts = tuple(range(0, len(X) + 1, 2500))
    return ArrayRows(X, y, classes=[0, 1], starts=starts), rng.normal(size=20) / 4


def as_bytes(result):
    return b"".join(np.asarray(part).tobytes() for part in result.values())


@pytest.fixture(scope="module")
def expected(data):
    rows, coef = data
    return as_bytes(rows.fold(kernels.gram, coef))


@pytest.mark.parametrize("engine", ["threads", "threads:1", "threads:5", "processes:2"])
def test_property_named_engines_give_the_same_bits(data, expected, engine):
    rows, coef = data
    assert as_bytes(rows.fold(kernels.gram, coef, engine=engine)) == expected


def test_property_any_executor_gives_the_same_bits(data, expected):
    rows, coef = data
    with ThreadPoolExecutor(3) as threads:
        assert as_bytes(rows.fold(kernels.gram, coef, engine=threads)) == expected
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        assert as_bytes(rows.fold(kernels.gram, coef, engine=processes)) == expected


@pytest.fixture(scope="module")
def dask_client():
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.cluster
@pytest.mark.filterwarnings("default")
def test_property_a_dask_cluster_of_two_workers_gives_the_same_bits(data, expected, dask_client):
    rows, coef = data
    assert as_bytes(rows.fold(kernels.gram, coef, engine=dask_client)) == expected
    executor = dask_client.get_executor()
    assert as_bytes(rows.fold(kernels.gram, coef, engine=executor)) == expected
    np.testing.assert_array_equal(
        rows.map(kernels.scores, coef, engine=dask_client), rows.map(kernels.scores, coef)
    )


@pytest.mark.cluster
@pytest.mark.filterwarnings("default")
def test_a_dask_task_that_raises_gives_one_clear_error(data, dask_client):
    with refused("task-failed", WorkerError):
        data[0].fold(kernels.fail_at, 3, engine=dask_client)


@pytest.mark.cluster
@pytest.mark.filterwarnings("default")
def test_a_dask_worker_that_dies_gives_one_clear_error(data):
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
        refused("worker-died", WorkerError),
    ):
        data[0].fold(kernels.die_at, 3, engine=client)


@pytest.mark.cluster
@pytest.mark.filterwarnings("default")
def test_a_dask_worker_lost_in_a_fold_changes_nothing(data, dask_client, tmp_path):
    """The cluster gives its blocks to another worker, or to the one that is started anew."""
    where = (3, str(tmp_path / "died"))
    assert data[0].fold(kernels.die_once_at, where, engine=dask_client) == 24.0
    assert (tmp_path / "died").exists()


def test_property_the_sum_differs_when_the_merge_order_does(data, expected):
    """Guards the tests above: these data are such that another order gives other bits."""
    rows, coef = data
    parts = list(rows.each(kernels.gram, coef))[::-1]
    total = parts[0]
    for part in parts[1:]:
        total = {name: total[name] + part[name] for name in total}
    assert as_bytes(total) != expected
    np.testing.assert_allclose(
        np.frombuffer(as_bytes(total)), np.frombuffer(expected), rtol=1e-9, atol=1e-9
    )


def test_invariant_blas_threads_do_not_change_bits(data, expected):
    from threadpoolctl import threadpool_info, threadpool_limits

    rows, coef = data
    with threadpool_limits(2, user_api="blas"):
        assert as_bytes(rows.fold(kernels.gram, coef)) == expected
        after = {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
    assert after == {2}, "the setting is put back"


def blas_threads(_block, _params):
    from threadpoolctl import threadpool_info

    return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")


@pytest.mark.parametrize("engine", [None, "threads"])
def test_kernels_run_with_one_blas_thread(data, engine):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(2, user_api="blas"):
        assert list(data[0].each(blas_threads, engine=engine)) == [1] * 24
        one = ArrayRows(np.ones((3, 2)))
        assert one.fold(blas_threads) == 1


def test_one_blas_thread_is_reentrant():
    from threadpoolctl import threadpool_info, threadpool_limits

    def now():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread, one_blas_thread:
            assert now() == {1}
        assert now() == {2}


@pytest.mark.parametrize("engine", [None, "threads", "processes:2"])
def test_a_kernel_that_raises_names_block_and_rows(data, engine):
    with pytest.raises(WorkerError) as caught:
        data[0].fold(kernels.fail_at, 3, engine=engine)
    text = str(caught.value)
    assert "block 4 of 24 (rows 7,500 to 9,999): ZeroDivisionError: no weight" in text
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("engine", [None, "threads", "processes:2"])
def test_errors_of_scarce_pass_unchanged(data, engine):
    with pytest.raises(DataError, match=r"^Column 'a': something is wrong\.$"):
        data[0].fold(kernels.refuse_at, 3, engine=engine)


def test_a_single_block_fails_in_the_same_words():
    with refused("task-failed", WorkerError):
        ArrayRows(np.ones((2, 1))).fold(kernels.fail_at, 0)


def test_a_worker_that_dies_gives_one_clear_error_and_the_next_fold_works(data, expected):
    rows, coef = data
    with refused("worker-died", WorkerError):
        rows.fold(kernels.die_at, 3, engine="processes:2")
    assert as_bytes(rows.fold(kernels.gram, coef, engine="processes:2")) == expected


def test_a_worker_that_ends_itself_is_not_called_out_of_memory(data):
    data[0].fold(kernels.fail_at, -1, engine="processes:2")
    with refused("worker-died", WorkerError):
        data[0].fold(kernels.exit_at, 3, engine="processes:2")


BEGIN = """
import os, signal, sys, threading
import numpy as np
from scarce.engine.executors import many, one_blas_thread
from scarce.engine.memory import ArrayRows
from tests.engine import kernels
rows = ArrayRows(np.ones((24, 2)), starts=tuple(range(0, 25, 3)))
whole = rows.fold(kernels.first_row)
"""


def run(tmp_path, text, seconds=60):
    """Run a script, as forking within the test's own process is not safe."""
    script = tmp_path / "script.py"
    script.write_text(BEGIN + text)
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        capture_output=True,
        text=True,
        timeout=seconds,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_forked_processes_start_pools_of_their_own(tmp_path):
    """As a server does that fits once, then forks: each child used to wait for ever."""
    done = run(
        tmp_path,
        """
def right():
    signal.alarm(20)
    return rows.fold(kernels.first_row, engine="threads:2") == whole
assert rows.fold(kernels.first_row, engine="threads:2") == whole
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        first = right()
        again = os.fork()
        if again == 0:
            os._exit(0 if right() else 1)
        sys.exit(0 if first and right() and os.waitpid(again, 0)[1] == 0 else 1)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children], flush=True)
assert rows.fold(kernels.first_row, engine="threads:2") == whole
""",
    )
    assert done.stdout == "[0, 0, 0]\n", done.stderr
    assert done.returncode == 0, done.stderr


@needs_fork
def test_a_forked_process_starts_processes_of_its_own(tmp_path):
    done = run(
        tmp_path,
        """
def right():
    signal.alarm(30)
    sys.exit(0 if rows.fold(kernels.first_row, engine="processes:1") == whole else 1)
if __name__ == "__main__":
    from multiprocessing import get_context
    assert rows.fold(kernels.first_row, engine="processes:1") == whole
    child = get_context("fork").Process(target=right)
    child.start()
    child.join()
    print(child.exitcode, rows.fold(kernels.first_row, engine="processes:1") == whole, flush=True)
""",
    )
    assert done.stdout == "0 True\n", done.stderr
    assert done.returncode == 0, done.stderr


@needs_fork
def test_a_fork_while_others_work_leaves_no_lock_and_no_count_behind(tmp_path):
    done = run(
        tmp_path,
        """
from threadpoolctl import threadpool_info, threadpool_limits
from scarce.engine import executors as engines
def now():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
inside, leave = threading.Event(), threading.Event()
def work():
    with one_blas_thread, one_blas_thread._lock, engines._pools_lock:
        inside.set()
        leave.wait()
with threadpool_limits(2, user_api="blas"):
    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    assert now() == {1}
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        assert now() == {2}, now()
        assert rows.fold(kernels.first_row, engine="threads:2") == whole
        assert now() == {2}, now()
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    leave.set()
    thread.join()
    assert now() == {2}
""",
    )
    assert done.stdout == "0\n", done.stderr
    assert done.returncode == 0, done.stderr


@needs_fork
@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_folds_within_joblib(backend, tmp_path):
    done = run(
        tmp_path,
        f"""
if __name__ == "__main__":
    from joblib import Parallel, delayed
    rows.engine = "threads:2"
    assert rows.fold(kernels.first_row) == whole
    calls = [delayed(rows.fold)(kernels.first_row)] * 4
    found = Parallel(2, backend={backend!r})(calls)
    print(found == [whole] * 4, flush=True)
""",
    )
    assert done.stdout == "True\n", done.stderr
    assert done.returncode == 0, done.stderr


def test_a_script_without_a_guard_is_told_so(tmp_path):
    done = run(tmp_path, 'rows.fold(kernels.first_row, engine="processes:2")\n')
    assert done.returncode == 1
    last = done.stderr.rstrip().rpartition("WorkerError: ")[2]
    assert last.startswith("The workers stopped with exit code 1 before block 1 of 8"), done.stderr
    assert "if __name__ == '__main__':" in last
    assert "memory" not in last


def test_a_kernel_that_cannot_travel_is_explained(data):
    with refused("cannot-pickle", WorkerError):
        data[0].fold(lambda block, _: 1.0, engine="processes:2")


def test_waiting_work_is_cancelled_when_a_block_fails(data):
    ran = []

    def slow(block, _):
        ran.append(block.index)
        if block.index == 0:
            raise ZeroDivisionError
        time.sleep(0.1)
        return 1.0

    with pytest.raises(WorkerError):
        data[0].fold(slow, engine="threads:1")
    time.sleep(0.5)
    assert len(ran) <= 3, "of the four that were handed out, those not yet begun never begin"


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("thread", "unknown-engine"),
        ("threads:0", "unknown-engine"),
        ("threads:x", "unknown-engine"),
        (3, "unknown-engine"),
    ],
)
def test_unknown_engines_are_refused(engine, words):
    with refused(words, UsageError):
        executor_for(engine)


def test_many_keeps_order_and_reports_progress():
    seen = []
    fits = [partial(pow, 2, n) for n in range(40)]
    for engine in (None, "threads", "processes:2"):
        seen.clear()
        done = many(fits, engine, progress=lambda n, total: seen.append((n, total)))
        assert done == [2**n for n in range(40)]
        assert seen == [(n + 1, 40) for n in range(40)]
    assert many([]) == []


def test_many_names_the_fit_that_failed():
    with refused("task-failed", WorkerError):
        many([partial(divmod, 1, 1), partial(divmod, 1, 0), partial(divmod, 1, 1)], "threads")


def fold_inside(X):
    rows = ArrayRows(X, starts=(0, 2, 4))
    return rows.fold(kernels.first_row, engine="threads:1")


def test_folds_within_many_do_not_wait_for_their_own_pool():
    """On a pool of one thread an inner fold on the same pool would wait for ever."""
    fits = [partial(fold_inside, np.ones((4, 1)))] * 3
    assert many(fits, "threads:1") == [(2,)] * 3


def test_tasks_are_taken_lazily():
    """A long list of blocks is not opened ahead of the workers by more than a few."""
    taken = []

    def tasks():
        for number in range(1000):
            taken.append(number)
            yield (number,)

    results = in_order(abs, tasks(), engine="threads:1")
    next(results)
    assert len(taken) <= 8
    results.close()


def test_rows_survive_pickling(data):
    rows, coef = data
    again = pickle.loads(pickle.dumps(rows))
    assert as_bytes(again.fold(kernels.gram, coef)) == as_bytes(rows.fold(kernels.gram, coef))
