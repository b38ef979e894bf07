"""The doctor: what is there, what is missing, and the command that repairs it."""

from __future__ import annotations

import json
import os
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from scarce.cli import doctor as page
from scarce.cli.doctor import DATA_FOLDERS, examine, older, read_needs
from scarce.cli.main import scarce
from scarce.engine.machine import usable_cores

LEAST = {need.name: need for need in read_needs(metadata.requires("scarce") or [])}


def run(*args: str) -> Result:
    return CliRunner().invoke(scarce, ["doctor", *args], prog_name="scarce")


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCARCE_DATA", raising=False)


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch):
    """Give distributions another version; None for not installed."""
    true = page._version

    def change(**versions: str | None) -> None:
        known = {name.replace("_", "-"): version for name, version in versions.items()}
        monkeypatch.setattr(page, "_version", lambda name: known.get(name, true(name)))

    return change


def test_a_sound_installation_has_no_problem(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SCARCE_CACHE", "cache")
    shown = run()
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith("No problems found.\n")
    assert max(map(len, shown.stdout.splitlines())) <= 80
    for name in ("scarce", "Python", "platform", "numpy", "scipy", "scikit-learn", "numba"):
        assert f"\n  {name} " in shown.stdout
    for name in ("pyarrow", "safetensors", "click", "rich"):
        assert f"\n  {name} " in shown.stdout
    assert f"{usable_cores()} usable core" in shown.stdout


def test_json_form():
    shown = run("--json")
    record = json.loads(shown.stdout)
    assert (shown.exit_code, record["ok"], record["schema"]) == (0, True, 1)
    result = record["result"]
    assert result["problems"] == []
    assert result["versions"]["numpy"] == metadata.version("numpy")
    assert result["engines"]["threads"] == usable_cores()
    assert set(result["optional"]) == {need.part for need in LEAST.values() if need.part}
    assert {"plot", "dask"} <= set(result["optional"])
    assert all(pool["library"] and pool["threads"] >= 1 for pool in result["blas"])
    assert result["data"] == {"folder": None, "sets": dict.fromkeys(DATA_FOLDERS, False)}


def test_a_missing_core_part_comes_first_with_its_repair(pretend):
    pretend(pyarrow=None)
    shown = run()
    assert (shown.exit_code, shown.stderr) == (4, "")
    first, what, repair = shown.stdout.splitlines()[:3]
    assert first.startswith("Problems")
    assert what.strip() == "pyarrow is not installed"
    assert repair.strip() == f"pip install '{LEAST['pyarrow'].spec}'"
    record = json.loads(run("--json").stdout)
    assert record["ok"] is False
    assert record["result"]["problems"][0]["repair"] == repair.strip()


@pytest.mark.parametrize("name", ["rich", "threadpoolctl", "numpy"])
def test_any_core_part_may_be_missing(pretend, name: str):
    pretend(**{name: None})
    shown = run()
    assert shown.exit_code == 4
    assert f"{name} is not installed" in shown.stdout


def test_an_old_version_is_a_problem_in_core_and_optional_parts(pretend):
    pretend(scikit_learn="1.5.2", matplotlib="3.7")
    shown = run()
    assert shown.exit_code == 4
    least = LEAST["scikit-learn"].least
    assert f"scikit-learn 1.5.2 is older than {least}" in shown.stdout
    assert f"pip install --upgrade 'scikit-learn>={least}'" in shown.stdout
    assert f"matplotlib 3.7 is older than {LEAST['matplotlib'].least}" in shown.stdout


def test_missing_optional_parts_are_no_problem(pretend):
    pretend(matplotlib=None, distributed=None)
    shown = run()
    assert shown.exit_code == 0
    for part in ("plot", "dask"):
        assert f"pip install 'scarce[{part}]'" in shown.stdout
    assert shown.stdout.count("pip install 'scarce[dask]'") == 2  # the engine and the part


def test_a_part_that_is_half_there_is_not_installed(pretend, monkeypatch: pytest.MonkeyPatch):
    needs = [*(metadata.requires("scarce") or []), "one>=1; extra == 'two'", "two; extra == 'two'"]
    monkeypatch.setattr(metadata, "requires", lambda name: needs)
    pretend(one="1.0", two=None)
    assert examine()["optional"]["two"]["installed"] is False
    pretend(one="1.0", two="0.30")
    assert examine()["optional"]["two"]["installed"] is True


def test_every_extra_that_is_named_is_used():
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = extras["optional-dependencies"]
    source = "".join(path.read_text() for path in (root / "src").rglob("*.py"))
    for name in extras.keys() - {"all"}:
        for need in read_needs(extras[name]):
            assert need.name in source, need
    assert extras["all"] == [f"scarce[{','.join(n for n in extras if n != 'all')}]"]


@pytest.mark.parametrize("name", ["numba", "rich", "threadpoolctl"])
def test_a_core_part_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch, name: str):
    true = page.import_module

    def broken(module: str):
        if module == name:
            raise OSError("part.so: bad file")
        return true(module)

    monkeypatch.setattr(page, "import_module", broken)
    shown = run()
    assert shown.exit_code == 4
    assert f"{name} is installed but cannot be imported: part.so: bad file" in shown.stdout
    assert f"pip install --force-reinstall '{name}>=" in shown.stdout


def test_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "uci").mkdir()
    monkeypatch.setenv("SCARCE_DATA", str(tmp_path))
    found = examine()
    assert found["data"]["folder"] == str(tmp_path)
    assert [name for name, there in found["data"]["sets"].items() if there] == ["uci"]
    assert "nceas        not there" in run().stdout
    monkeypatch.setenv("SCARCE_DATA", str(tmp_path / "nowhere"))
    shown = run()
    assert shown.exit_code == 4
    assert "unset SCARCE_DATA" in shown.stdout


def test_cores_by_affinity(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 3, 5}, raising=False)
    assert usable_cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cores() == os.cpu_count()


def test_needs_are_read_from_metadata_as_builders_write_it():
    needs = read_needs(
        [
            "numpy >= 2.0",
            "jinja2",
            "distributed>=2024.8; extra == 'dask'",
            'dask[array]>=0.30 ; extra == "cluster"',
            "scarce[plot,dask]; extra == 'all'",
            "distributed>=2024.8; extra == 'all'",
        ]
    )
    assert [tuple(need) for need in needs] == [
        ("numpy", "2.0", ""),
        ("jinja2", "", ""),
        ("distributed", "2024.8", "dask"),
        ("dask", "0.30", "cluster"),
    ]
    assert [need.spec for need in needs[:2]] == ["numpy>=2.0", "jinja2"]


def test_every_core_need_of_the_package_is_looked_at():
    named = {need.name for need in read_needs(metadata.requires("scarce") or [])}
    assert {"numpy", "scipy", "scikit-learn", "numba", "pyarrow", "click", "rich"} <= named


@pytest.mark.parametrize(
    ("version", "least", "expected"),
    [("1.5.2", "1.6", True), ("1.10", "1.6", False), ("17.0.0", "17", False), ("2", "2.0", False)],
)
def test_older(version: str, least: str, expected: bool):
    assert older(version, least) is expected


def test_the_cache_is_shown_with_its_size(tmp_path: Path):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from scarce import open_rows

    pq.write_table(pa.table({"a": np.arange(300_000.0)}), tmp_path / "a.parquet")
    open_rows(tmp_path / "a.parquet", cache=True)
    assert examine()["cache"]["files"] == 1
    assert "1 decoded file, 2 MB, may be deleted" in run().stdout
