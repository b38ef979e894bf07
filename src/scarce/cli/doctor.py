"""`scarce doctor`: is everything in place, and what is the command to repair it?

What is needed is read from the package's own metadata, so this page cannot drift from it. Every
core part is imported, because a part can be installed and still be broken; optional parts are only
looked up. Nothing here relies on a part that may be missing: that is the very thing to report.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

import click

from scarce.cli.options import takes
from scarce.cli.output import emit, table, write_line
from scarce.engine.machine import cache_folder, cached_files, usable_cores
from scarce.errors import CheckError

DATA_FOLDERS = ("nceas", "uci", "uci_missing", "anomaly", "bradypus")
MODULES = {"scikit-learn": "sklearn"}  # where the name to import is not the name to install


class Need(NamedTuple):
    """A distribution that scarce needs, or that one of its optional parts needs."""

    name: str
    least: str
    part: str

    @property
    def spec(self) -> str:
        """What to give pip."""
        return f"{self.name}>={self.least}" if self.least else self.name


@click.command()
@takes("json")
@click.pass_context
def doctor(ctx: click.Context, json: bool) -> None:
    """Check the installation and say how to repair it.

    Shows versions, engines, optional parts, numerical libraries and data sets.
    Problems come first, each with the command that repairs it; with any, the exit code is 4.

    \b
    scarce doctor
    scarce doctor --json
    """
    found = examine()
    healthy = not found["problems"]
    emit(found, json=json, ok=healthy, show=lambda: _show(found))
    if not healthy:
        ctx.exit(CheckError.exit_code)


def examine() -> dict[str, Any]:
    """Look at the installation.

    Returns
    -------
    dict
        ``problems`` (each with ``name``, ``what`` and ``repair``), ``versions``, ``engines``,
        ``optional``, ``blas``, ``cache`` and ``data``. A version is
        None where a part is not installed.
    """
    needs = read_needs(metadata.requires("scarce") or [])
    versions = {need.name: _version(need.name) for need in needs}
    core = [need for need in needs if not need.part]
    problems = [
        *_wrong_versions(needs, versions),
        *_broken([need for need in core if versions[need.name]]),
        *_wrong_data_folder(),
    ]
    return {
        "problems": problems,
        "versions": {
            "scarce": _version("scarce"),
            "Python": platform.python_version(),
            "platform": platform.platform(),
            **{need.name: versions[need.name] for need in core},
        },
        "engines": {
            "in_process": True,
            "threads": usable_cores(),
            "processes": usable_cores(),
            "dask": versions.get("distributed"),
        },
        "optional": _optional(needs, versions),
        "blas": [] if _ails("threadpoolctl", problems) else _blas(),
        "cache": _cache(),
        "data": _data(),
    }


def read_needs(requirements: Iterable[str]) -> list[Need]:
    """Read the package's requirements.

    Parameters
    ----------
    requirements : iterable of str
        As `importlib.metadata.requires` gives them.

    Examples
    --------
    >>> read_needs(["numpy>=2.0", "matplotlib>=3.9; extra == 'plot'"])
    [Need(name='numpy', least='2.0', part=''), Need(name='matplotlib', least='3.9', part='plot')]
    """
    needs = []
    for requirement in requirements:
        spec, _, marker = requirement.partition(";")
        name = re.match(r"[\w.-]+", spec)
        least = re.search(r">=\s*([\d.]+)", spec)
        part = re.search(r"extra\s*==\s*[\"']([\w-]+)", marker)
        need = Need(name[0] if name else spec, least[1] if least else "", part[1] if part else "")
        if need.part != "all":  # only bundles the other parts
            needs.append(need)
    return needs


def older(version: str, least: str) -> bool:
    """Whether a version is below the least one that works; what follows the numbers is ignored.

    Examples
    --------
    >>> older("1.9.2", "1.10"), older("2", "2.0"), older("2.0rc1", "2.0")
    (True, False, False)
    """
    return _release(version) < _release(least)


def _release(version: str) -> list[int]:
    numbers = re.match(r"\d+(\.\d+)*", version)
    release = [int(number) for number in numbers[0].split(".")] if numbers else []
    while release and release[-1] == 0:
        release.pop()
    return release


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _problem(name: str, what: str, repair: str) -> dict[str, str]:
    return {"name": name, "what": f"{name} {what}", "repair": repair}


def _ails(name: str, problems: Iterable[dict[str, str]]) -> bool:
    return any(problem["name"] == name for problem in problems)


def _wrong_versions(
    needs: Iterable[Need], versions: dict[str, str | None]
) -> Iterable[dict[str, str]]:
    for need in needs:
        version = versions[need.name]
        if version is None and not need.part:
            yield _problem(need.name, "is not installed", f"pip install '{need.spec}'")
        elif version is not None and need.least and older(version, need.least):
            yield _problem(
                need.name,
                f"{version} is older than {need.least}",
                f"pip install --upgrade '{need.spec}'",
            )


def _broken(core: Iterable[Need]) -> Iterable[dict[str, str]]:
    for need in core:
        try:
            import_module(MODULES.get(need.name, need.name))
        except Exception as error:  # a damaged package can raise anything while it is imported
            yield _problem(
                need.name,
                f"is installed but cannot be imported: {error}",
                f"pip install --force-reinstall '{need.spec}'",
            )


def _wrong_data_folder() -> Iterable[dict[str, str]]:
    folder = os.environ.get("SCARCE_DATA", "")
    if folder and not Path(folder).is_dir():
        yield _problem("SCARCE_DATA", f"is {folder!r}, which is no folder", "unset SCARCE_DATA")


def _optional(needs: Iterable[Need], versions: dict[str, str | None]) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for need in needs:
        if need.part:
            part = parts.setdefault(
                need.part,
                {
                    "installed": True,
                    "versions": {},
                    "install": f"pip install 'scarce[{need.part}]'",
                },
            )
            part["versions"][need.name] = versions[need.name]
            part["installed"] = part["installed"] and versions[need.name] is not None
    return parts


def _blas() -> list[dict[str, Any]]:
    """The thread pools of the numerical libraries that the core parts have loaded."""
    pools = import_module("threadpoolctl").threadpool_info()
    return [
        {
            "library": pool["internal_api"],
            "version": pool["version"],
            "threads": pool["num_threads"],
            "kernels": pool.get("architecture"),
            "file": pool["filepath"],
        }
        for pool in sorted(pools, key=lambda pool: str(pool["filepath"]))
    ]


def _cache() -> dict[str, Any]:
    sizes = [path.stat().st_size for path in cached_files()]
    return {"folder": str(cache_folder()), "files": len(sizes), "bytes": sum(sizes)}


def _data() -> dict[str, Any]:
    folder = os.environ.get("SCARCE_DATA") or None
    return {
        "folder": folder,
        "sets": {name: bool(folder) and Path(str(folder), name).is_dir() for name in DATA_FOLDERS},
    }


def _show(found: dict[str, Any]) -> None:
    problems = found["problems"]
    simple = _ails("rich", problems)

    def section(title: str, rows: list[tuple[str, ...]]) -> None:
        write_line()
        table(rows, title=title, simple=simple)

    if problems:
        write_line("Problems, and the commands that repair them")
        for problem in problems:  # no table: a command that is folded cannot be copied
            write_line(f"  {problem['what']}\n      {problem['repair']}")
    else:
        write_line("No problems found.")
    section("Versions", [(name, value or "missing") for name, value in found["versions"].items()])
    section("Engines", _engine_rows(found["engines"]))
    section(
        "Optional parts",
        [
            (name, _named(part["versions"]) if part["installed"] else part["install"])
            for name, part in found["optional"].items()
        ],
    )
    if found["blas"]:
        section("Numerical libraries", [_blas_row(pool) for pool in found["blas"]])
    cache = found["cache"]
    files = f"{cache['files']} decoded file{'s' if cache['files'] != 1 else ''}"
    held = f"{files}, {cache['bytes'] / 2**20:,.0f} MB, may be deleted"
    section(
        "Cache", [("folder", cache["folder"]), ("holds", held if cache["files"] else "nothing")]
    )
    section("Data sets of the papers", _data_rows(found["data"]))


def _engine_rows(engines: dict[str, Any]) -> list[tuple[str, ...]]:
    cores = f"{engines['threads']} usable core{'s' if engines['threads'] != 1 else ''}"
    return [
        ("in process", "ready"),
        ("threads", f"ready, {cores}"),
        ("processes", f"ready, {cores}"),
        ("Dask", f"ready, {engines['dask']}" if engines["dask"] else "pip install 'scarce[dask]'"),
    ]


def _blas_row(pool: dict[str, Any]) -> tuple[str, ...]:
    threads = f"{pool['threads']} thread{'s' if pool['threads'] != 1 else ''}"
    kernels = f"{pool['kernels']} kernels" if pool["kernels"] else ""
    origin = f"from {Path(pool['file']).parent.name}"
    told = ", ".join(word for word in (pool["version"], threads, kernels, origin) if word)
    return (pool["library"], told)


def _data_rows(data: dict[str, Any]) -> list[tuple[str, ...]]:
    if not data["folder"]:
        return [("SCARCE_DATA", "not set; only the experiments and some tests need it")]
    sets = [(name, "there" if there else "not there") for name, there in data["sets"].items()]
    return [("SCARCE_DATA", data["folder"]), *sets]


def _named(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())
