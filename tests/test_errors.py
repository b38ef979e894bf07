"""Errors: exit codes, and words that lead on."""

import copy
import json
import pickle

import pytest

from scarce import errors
from scarce.cli.flags import Flags
from scarce.errors import Argument, Phrase, Problem
from scarce.io.codec import Decoder, Encoder
from tests.problems import refused


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("ScarceError", 1),
        ("WorkerError", 1),
        ("UsageError", 2),
        ("DataError", 3),
        ("StoreError", 3),
        ("CheckError", 4),
    ],
)
def test_exit_codes(kind, code):
    cls = getattr(errors, kind)
    assert cls.exit_code == code
    assert issubclass(cls, errors.ScarceError)


def test_bad_values_are_value_errors_too():
    assert issubclass(errors.DataError, ValueError)
    assert issubclass(errors.UsageError, ValueError)


def test_suggest_only_what_is_near():
    assert errors.suggest("labl", ["label", "weight"]) == " Did you mean 'label'?"
    assert errors.suggest("qqq", ["label", "weight"]) == ""


def test_refuse_word_lists_what_is_known():
    errors.refuse_word("how", "a", ["a", "b"])
    with refused("unknown-word", errors.UsageError, argument="how", value="c"):
        errors.refuse_word("how", "c", ["a", "b"])


COLUMN = {
    "code": "infinite-values",
    "column": "in{come}",
    "count": 1234,
    "missing": Argument("missing", "inf"),
    "again": Phrase("fit again", "run `scarce fit`"),
    "remedy": ["Or {again}.", "Read them as missing with {missing}."],
}


def test_a_problem_is_its_python_sentence_and_can_be_said_in_flags():
    problem = Problem("Column {column!r}: {count:,} values.", **COLUMN)
    assert problem == (
        "Column 'in{come}': 1,234 values. Or fit again. Read them as missing with missing='inf'."
    )
    assert problem.render(Flags(["missing"])) == (
        "Column 'in{come}': 1,234 values. Or run `scarce fit`. Read them as missing with "
        "--missing inf."
    )
    assert problem.render(Flags([])) == "Column 'in{come}': 1,234 values. Or run `scarce fit`."


def test_a_sentence_without_fields_is_taken_as_it_stands():
    assert str(errors.DataError("100 % of {these}")) == "100 % of {these}"


@pytest.mark.parametrize("again", [pickle.loads, None])
def test_errors_and_problems_survive_pickle_and_copy(again):
    error = errors.DataError("Column {column!r}: {count:,} values.", **COLUMN)
    other = pickle.loads(pickle.dumps(error)) if again else copy.deepcopy(error)
    assert (type(other), str(other), other.code) == (type(error), str(error), error.code)
    assert other.fields == error.fields
    assert other.problem.remedy == error.problem.remedy


def test_a_model_file_keeps_a_remark_with_its_data():
    problem = Problem(
        "Column {column!r}: {count:,} values. See {bare}.",
        **COLUMN,
        bare=Argument("level"),
        own=Argument("drop", ..., call="open_rows"),
    )
    node = Encoder(take_apart=None).encode((problem,), "warnings")
    (again,) = Decoder({}, put_together=None).decode(json.loads(json.dumps(node)), "warnings")
    assert (again, again.code, again.fields, again.remedy) == (
        problem,
        problem.code,
        problem.fields,
        problem.remedy,
    )


@pytest.mark.parametrize("text", ["{a.__class__}", "{a[0]}", "{a:>99999999}", "{b}", "{}", "{"])
def test_a_forged_remark_is_refused(text):
    node = {"problem": {"text": text, "code": "x", "remedy": [], "fields": {"a": 1}}}
    with pytest.raises(errors.StoreError):
        Decoder({}, put_together=None).decode(node, "state.remark_")
