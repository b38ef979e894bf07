"""How does a file change so that a reader sees the old one or the new one, never half of one?

    temporary in the same folder -> fsync file -> os.replace -> fsync folder

Whatever interrupts the writer (an exception, Ctrl-C, a kill, a full disk, a power cut), the target
stays what it was until the replacement is complete. A killed writer leaves its temporary behind;
the next write to the same target sweeps it away.

Assumes a local file system whose rename is atomic (POSIX, NTFS). Does not lock: of two writers of
one target, the one that finishes last wins, whole; with force=False the one that finishes first,
and the others are refused. Does not create folders.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from scarce.errors import Argument, StoreError, UsageError

DAY = 86_400.0  # seconds after which a temporary counts as abandoned whoever wrote it
LONGEST_NAME = (
    160  # bytes of the target's name kept in the temporary's name; most systems allow 255
)

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], *, force: bool = True) -> Iterator[Path]:
    """Write a file whole or not at all.

    Yields the path of an empty temporary file in the target's folder. Fill it by any means; when
    the block ends, it becomes the target in one step. When the block raises, the temporary is
    removed and the target is left as it was.

    Parameters
    ----------
    path : path-like
        The file to write. A symbolic link is followed, so the file it points to is replaced. An
        existing file keeps its permission bits.
    force : bool
        Whether a file that is there already may be replaced, also one that another process wrote
        meanwhile.

    Yields
    ------
    pathlib.Path
        The temporary file, to be closed by the caller before the block ends.

    Raises
    ------
    StoreError
        The folder is missing or read-only, the target is a folder or a device, or the disk is full
        (also when the disk fills up inside the block). Other exceptions of the block pass through.
    UsageError
        With force=False, a file is there already.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> target = Path(folder.name, "figures.csv")
    >>> with whole_file(target) as temporary:
    ...     _ = temporary.write_text("recall,0.6")
    >>> with whole_file(target) as temporary:
    ...     _ = temporary.write_text("recall,")
    ...     raise RuntimeError("the second half never came")
    Traceback (most recent call last):
    ...
    RuntimeError: the second half never came
    >>> target.read_text(), len(os.listdir(folder.name))
    ('recall,0.6', 1)
    >>> folder.cleanup()
    """
    target = Path(os.path.realpath(path))
    mode = _mode_to_keep(target)
    if mode is not None and not force:
        raise _there_already(target)
    _sweep(target)
    temporary = target.parent / f"{_prefix(target)}{_host()}-{os.getpid()}-{secrets.token_hex(4)}~"
    try:
        _create(temporary, target, mode)
        try:
            yield temporary
        except OSError as error:
            if error.errno in FULL:
                raise _refusal(target, error) from error
            raise
        _put_in_place(temporary, target, mode, force)
    except BaseException:  # Ctrl-C too: nothing half-written stays
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target)


def write_bytes(path: str | os.PathLike[str], content: bytes, *, force: bool = True) -> None:
    """Write bytes to a file, whole or not at all; without force, only where there is none yet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(Path(folder, "model.bin"), b"1234")
    ...     Path(folder, "model.bin").read_bytes()
    b'1234'
    """
    with whole_file(path, force=force) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | os.PathLike[str], content: str, *, force: bool = True) -> None:
    """Write text to a file as UTF-8, line ends as given, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_text(Path(folder, "report.html"), "<p>fünf</p>")
    ...     Path(folder, "report.html").read_text(encoding="utf-8")
    '<p>fünf</p>'
    """
    write_bytes(path, content.encode("utf-8"), force=force)


def _mode_to_keep(target: Path) -> int | None:
    """Return the permission bits of an existing target (None: new); only files are replaced."""
    try:
        seen = target.stat()
    except FileNotFoundError:
        if not target.parent.is_dir():
            raise StoreError(
                "Cannot write {file!r}: the folder {folder!r} does not exist.",
                code="no-folder",
                file=str(target),
                folder=str(target.parent),
                remedy="Create it (mkdir -p {folder!r}), or give another path.",
            ) from None
        return None
    except OSError as error:
        raise _refusal(target, error) from error
    if stat.S_ISDIR(seen.st_mode):
        raise StoreError(
            "Cannot write {file!r}: it is a folder.",
            code="is-folder",
            file=str(target),
            inside=str(target / "model.scarce"),
            remedy="Give a file name inside it, such as {inside!r}.",
        )
    if not stat.S_ISREG(seen.st_mode):
        raise StoreError(
            "Cannot write {file!r}: it is a device, pipe or socket, not a file.",
            code="not-a-file",
            file=str(target),
            remedy="Give the path of an ordinary file.",
        )
    return stat.S_IMODE(seen.st_mode)


def _create(temporary: Path, target: Path, mode: int | None) -> None:
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # umask applies
        if mode is not None:
            temporary.chmod(mode | stat.S_IWUSR)  # the caller still has to write into it
    except OSError as error:
        raise _refusal(target, error) from error


def _put_in_place(temporary: Path, target: Path, mode: int | None, force: bool) -> None:
    try:
        descriptor = os.open(temporary, os.O_RDWR)
        try:
            os.fsync(descriptor)  # the bytes must be on the disk before the name points at them
        finally:
            os.close(descriptor)
        if mode is not None:
            temporary.chmod(mode)
        if not force and _linked(temporary, target):
            temporary.unlink()
        else:
            os.replace(temporary, target)
    except FileExistsError as error:
        raise _there_already(target) from error
    except OSError as error:
        raise _refusal(target, error) from error


def _linked(temporary: Path, target: Path) -> bool:
    """Give a file its name in one step that fails where the name is taken: of several, one wins.

    Where the file system has no links, take the name with an empty file, to be replaced (False).
    """
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        return False
    return True


def _there_already(target: Path) -> UsageError:
    return UsageError(
        "{file!r} exists already and is kept.",
        code="file-exists",
        file=str(target),
        force=Argument("force", True),
        remedy="Give another name, or replace it with {force}.",
    )


def _sync_folder(target: Path) -> None:
    """Make the new name survive a power cut; some file systems cannot, and say so."""
    if os.name == "nt":  # folders cannot be opened there; NTFS journals the rename itself
        return
    try:
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno in (*NO_FOLDER_SYNC, *FORBIDDEN):
            return
        raise StoreError(
            "{file!r} is written, but the disk did not confirm its folder ({reason}): it may be "
            "gone after a power cut.",
            code="not-confirmed",
            file=str(target),
            reason=error.strerror or str(error),
            remedy="Write it once more.",
        ) from error


def _sweep(target: Path) -> None:
    """Remove temporaries of this target whose writer is dead, or that are older than a day."""
    ours = re.compile(re.escape(_prefix(target)) + r"([0-9a-f]{8})-([0-9]{1,10})-[0-9a-f]{8}~")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            match = ours.fullmatch(entry.name)
            if match is None:
                continue
            with contextlib.suppress(OSError):  # someone else swept it, or it is not ours to remove
                dead = match[1] == _host() and not _is_running(int(match[2]))
                if dead or time.time() - entry.stat(follow_symlinks=False).st_mtime > DAY:
                    os.unlink(entry.path)


def _prefix(target: Path) -> str:
    """Return how the temporaries of this target begin; a long name is replaced by its digest."""
    name = target.name
    raw = os.fsencode(name)
    if len(raw) > LONGEST_NAME:
        name = hashlib.sha256(raw).hexdigest()[:32]
    return f".{name}.writing-"


def _host() -> str:
    """Return a short mark of this machine: process numbers mean nothing on another one."""
    return hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:8]


def _is_running(process: int) -> bool:
    if os.name == "nt":  # no harmless probe there: signal 0 is Ctrl-C. The age decides.
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # it runs, as somebody else
        return True
    return True


def _refusal(target: Path, error: OSError) -> StoreError:
    reason = error.strerror or str(error)
    if error.errno in FULL:
        why, then = (
            f"no room is left ({reason})",
            "Free some space, or give a path on another disk.",
        )
    elif error.errno in FORBIDDEN:
        why = f"{str(target.parent)!r} may not be written to ({reason})"
        then = "Change its permissions, or give a path in a folder of yours."
    elif error.errno == errno.ENAMETOOLONG:
        why, then = f"the name has {len(target.name)} characters ({reason})", "Give a shorter one."
    else:
        why, then = f"the system answered {reason!r}", "Check the disk, or give another path."
    return StoreError(
        "Cannot write {file!r}: {why}. The old file, if any, is kept.",
        code="cannot-write",
        file=str(target),
        why=why,
        remedy=then,
    )
