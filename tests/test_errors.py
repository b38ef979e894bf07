"""Errors: exit codes, and words that lead on."""

import pytest

from scarce import errors


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
    with pytest.raises(errors.UsageError, match=r"how='c' is not known\. Give one of: 'a', 'b'\."):
        errors.refuse_word("how", "c", ["a", "b"])
