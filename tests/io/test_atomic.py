"""A file is written whole or not at all, whatever happens to the writer."""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scarce.errors import StoreError, UsageError
from scarce.io import atomic
from scarce.io.atomic import whole_file, write_bytes, write_text
from tests.problems import refused

SIZE = 200_000


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "model.scarce"
    path.write_bytes(b"old")
    return path


def test_new_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a b ü.csv"
    write_bytes(path, b"one")
    write_bytes(str(path), b"two")
    assert path.read_bytes() == b"two"
    write_text(path, "drei\nvier ü")
    assert path.read_bytes() == "drei\nvier ü".encode()
    assert names(tmp_path) == [path.name]


def test_nothing_is_visible_before_the_end(target: Path) -> None:
    with whole_file(target) as temporary:
        assert temporary.parent == target.parent
        assert temporary.read_bytes() == b""
        temporary.write_bytes(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("raised", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_exception_keeps_the_old_file(target: Path, raised: type[BaseException]) -> None:
    def interrupted() -> None:
        with whole_file(target) as temporary:
            temporary.write_bytes(b"half")
            raise raised

    with pytest.raises(raised):
        interrupted()
    assert target.read_bytes() == b"old"
    assert names(target.parent) == [target.name]


def test_bytes_are_synced_before_the_name_and_the_folder_after(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    sync, replace = os.fsync, os.replace

    def watch_sync(descriptor: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def watch_replace(source: Path, destination: Path) -> None:
        order.append("replace")
        replace(source, destination)

    monkeypatch.setattr(os, "fsync", watch_sync)
    monkeypatch.setattr(os, "replace", watch_replace)
    write_bytes(target, b"new")
    assert order == ["file", "replace", "folder"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "cannot-write"),
        (errno.EDQUOT, "cannot-write"),
        (errno.EACCES, "cannot-write"),
        (errno.EIO, "cannot-write"),
    ],
)
def test_a_failing_system_call_keeps_the_old_file(
    target: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, words: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    with refused(words, StoreError) as caught:
        write_bytes(target, b"new")
    assert str(target) in str(caught.value)
    assert "old file, if any, is kept" in str(caught.value)
    assert target.read_bytes() == b"old"
    assert names(target.parent) == [target.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_inside_the_block(target: Path) -> None:
    with (
        refused("cannot-write", StoreError),
        whole_file(target),
        open("/dev/full", "wb", buffering=0) as full,
    ):
        full.write(b"x")
    assert target.read_bytes() == b"old"
    assert names(target.parent) == [target.name]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX resource limits")
def test_a_real_write_limit(target: Path) -> None:
    """The kernel itself stops the write after 4 kB: no pretending involved."""
    code = (
        "import resource, signal, sys\n"
        "from scarce.io.atomic import write_bytes\n"
        "from scarce.errors import StoreError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    write_bytes(sys.argv[1], b'x' * 100_000)\n"
        "except StoreError as error:\n"
        "    print(error)\n"
    )
    command = [sys.executable, "-B", "-c", code, str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "no room is left" in done.stdout
    assert target.read_bytes() == b"old"
    assert names(target.parent) == [target.name]


def test_other_errors_of_the_block_pass_through(target: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_file(target):
        (target.parent / "absent").read_bytes()
    assert names(target.parent) == [target.name]


def test_an_unconfirmed_folder_is_said(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync
    code = errno.EIO

    def fail_on_folder(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_on_folder)
    with refused("not-confirmed", StoreError):
        write_bytes(target, b"new")
    assert target.read_bytes() == b"new"
    code = errno.EINVAL  # a file system that cannot sync folders is no error
    write_bytes(target, b"newer")
    assert target.read_bytes() == b"newer"


def test_missing_folder(tmp_path: Path) -> None:
    with refused("no-folder", StoreError):
        write_bytes(tmp_path / "absent" / "model.scarce", b"x")


def test_a_file_where_a_folder_should_be(target: Path) -> None:
    with refused("cannot-write", StoreError):
        write_bytes(target / "model.scarce", b"x")


def test_target_is_a_folder(tmp_path: Path) -> None:
    with refused("is-folder", StoreError):
        write_bytes(tmp_path, b"x")
    assert names(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_pipes_and_devices_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        with refused("not-a-file", StoreError):
            write_bytes(path, b"x")
    assert names(tmp_path) == ["pipe"]


def test_name_too_long(tmp_path: Path) -> None:
    with refused("cannot-write", StoreError):
        write_bytes(tmp_path / ("x" * 300), b"x")
    longest = tmp_path / ("x" * 255)  # the temporary's name may not be longer than the target's
    write_bytes(longest, b"x")
    assert names(tmp_path) == [longest.name]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="may not be written to"):
        write_bytes(tmp_path / "model.scarce", b"x")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_permissions_are_kept(target: Path) -> None:
    for mode in (0o600, 0o664, 0o444):
        target.chmod(mode)
        write_bytes(target, b"new")
        assert stat.S_IMODE(target.stat().st_mode) == mode
    fresh, plain = target.with_name("fresh"), target.with_name("plain")
    write_bytes(fresh, b"x")
    plain.write_bytes(b"x")
    assert fresh.stat().st_mode == plain.stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="needs symbolic links")
def test_a_link_is_followed(target: Path) -> None:
    link = target.with_name("latest")
    link.symlink_to(target.name)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("links", [True, False])
def test_without_force_the_first_of_two_writers_wins(
    tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", fail)
    target = tmp_path / "model.scarce"

    def overtaken() -> None:
        with whole_file(target, force=False) as slow:
            slow.write_bytes(b"slow")
            write_bytes(target, b"quick", force=False)

    with refused("file-exists", UsageError):
        overtaken()
    assert target.read_bytes() == b"quick"
    assert names(tmp_path) == [target.name]
    with refused("file-exists", UsageError):
        write_text(target, "late", force=False)
    write_text(target, "late")
    assert target.read_bytes() == b"late"


def test_of_racing_writers_without_force_exactly_one_wins(tmp_path: Path) -> None:
    """Each waits for a common moment, so that all find the name free and then write at once."""
    target = tmp_path / "model.scarce"
    code = (
        "import sys, time\n"
        "from scarce.io.atomic import whole_file\n"
        "from scarce.errors import UsageError\n"
        "try:\n"
        "    with whole_file(sys.argv[1], force=False) as temporary:\n"
        "        temporary.write_text(sys.argv[2])\n"
        "        print('ready', flush=True)\n"
        "        sys.stdin.read()\n"
        "except UsageError:\n"
        "    sys.exit(2)\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-B", "-c", code, str(target), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(4)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.close()
    codes = [writer.wait() for writer in writers]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
    assert sorted(codes) == [0, 2, 2, 2]
    assert target.read_text() == str(codes.index(0))
    assert names(tmp_path) == [target.name]


def orphan(target: Path, process: int, host: str | None = None, age: float = 0.0) -> Path:
    name = f".{target.name}.writing-{host or atomic._host()}-{process}-0123abcd~"
    path = target.with_name(name)
    path.write_bytes(b"half")
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def dead_process() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_temporaries_look_as_the_sweep_expects(target: Path) -> None:
    with whole_file(target) as temporary:
        pattern = rf"\.model\.scarce\.writing-{atomic._host()}-{os.getpid()}-[0-9a-f]{{8}}~"
        assert re.fullmatch(pattern, temporary.name)
        write_bytes(target, b"inner")  # a second writer leaves the first one's temporary alone
        temporary.write_bytes(b"outer")
    assert target.read_bytes() == b"outer"
    assert names(target.parent) == [target.name]


@pytest.mark.skipif(sys.platform == "win32", reason="dead writers are found by age alone there")
def test_only_abandoned_temporaries_are_swept(target: Path) -> None:
    dead = dead_process()
    gone = orphan(target, dead)
    old = orphan(target, os.getpid(), age=2 * atomic.DAY)
    far_and_old = orphan(target, dead, host="0" * 8, age=2 * atomic.DAY)
    kept = [
        orphan(target, os.getppid()),  # its writer runs
        orphan(target, dead, host="f" * 8),  # another machine's process numbers mean nothing
        orphan(target.with_name("other.scarce"), dead),  # another target
        target.with_name(f".{target.name}.writing-notes~"),
    ]
    kept[-1].write_bytes(b"the user's own")
    write_bytes(target, b"new")
    assert not any(path.exists() for path in (gone, old, far_and_old))
    assert all(path.exists() for path in kept)


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_writers_leave_a_whole_file(tmp_path: Path) -> None:
    """Twenty writers die at random moments; each version is one repeated byte, so a mix shows."""
    target = tmp_path / "model.scarce"
    code = (
        "import itertools, sys\n"
        "from scarce.io.atomic import whole_file\n"
        "for turn in itertools.count():\n"
        "    with whole_file(sys.argv[1]) as temporary, open(temporary, 'wb') as file:\n"
        "        for _ in range(20):\n"
        f"            file.write(bytes([turn % 256]) * {SIZE // 20})\n"
        "            file.flush()\n"
        "    print(turn, flush=True)\n"
    )
    moments = random.Random(7)
    orphans = 0
    for _ in range(20):
        writer = subprocess.Popen(
            [sys.executable, "-B", "-c", code, str(target)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()  # the first version is complete
        time.sleep(moments.uniform(0.0, 0.05))
        os.kill(writer.pid, signal.SIGKILL)
        writer.stdout.close()
        writer.wait()
        content = target.read_bytes()
        assert len(content) == SIZE
        assert len(set(content)) == 1
        orphans += len(names(tmp_path)) - 1
        assert len(names(tmp_path)) <= 2  # each writer swept its predecessor's
    assert orphans > 0, "no writer died inside a write: the moments test nothing"
    write_bytes(target, b"new")
    assert names(tmp_path) == [target.name]
