"""Jobs that go on after a stop, for every experiment that keeps records."""

from dataclasses import replace
from importlib import import_module
from typing import NamedTuple

import pytest

from experiments import resume

LONG = {
    "paper_000": ("work", "WORK"),
    "paper_001": ("work", "WORK"),
    "paper_002": ("work", "WORK"),
    "paper_004": ("work", "WORK"),
    "missed_events": ("contest", "_WORK"),
    "missed_events rivals": ("contest", "_RIVALS"),
}


class Job(NamedTuple):
    case: str
    repeat: int

    @property
    def cost(self):
        return 1.0


@pytest.fixture
def done():
    return []


@pytest.fixture
def work(done):
    def do(job):
        done.append(job)
        return job._asdict() | {"value": 0.5}

    return resume.Work(("records",), (), do, Job)


def test_work_goes_on_where_it_stopped(work, done, tmp_path, capsys):
    todo = [Job("a", repeat) for repeat in range(4)]
    file = tmp_path / "deep" / "records.jsonl"
    work.do_all(todo[:2], file, engine=None)
    with file.open("a") as out:
        out.write('{"case": "a", "repeat": 2, "val')  # stopped in the middle
    found = work.do_all(todo, file, engine=None)
    assert done == todo
    assert [record["repeat"] for record in found] == [0, 1, 2, 3]
    assert "2 results are on file already" in capsys.readouterr().err
    assert work.do_all(todo, file, engine=None) == found
    assert work.read(file)[todo[3]] == found[3]
    assert len(done) == 4


def test_without_a_file_nothing_is_kept(work, tmp_path):
    assert work.do_all([Job("a", 1)], None) == [{"case": "a", "repeat": 1, "value": 0.5}]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", LONG)
def test_work_of_other_code_is_not_taken_over(name, tmp_path):
    module, work = LONG[name]
    here = getattr(import_module(f"experiments.{name.split()[0]}.{module}"), work)
    before = here.work_file(tmp_path)
    assert here.work_file(tmp_path) == before
    assert replace(here, code=here.code[:-1]).work_file(tmp_path) != before
    assert replace(here, own=here.own[:-1]).work_file(tmp_path) != before
    assert all(path.exists() for path in here.own)
