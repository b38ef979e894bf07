"""Frames: a text in every row says what a list was drawn from, and is read back as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarce.missed.frames import Frame, digest_of, frame_of_text

DIGEST = "5f0c31d2a9be"


@given(
    st.text(max_size=30),
    st.integers(0, 10**9),
    st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
    st.sampled_from(["", "2026-02-16"]),
)
def test_a_frame_is_read_back_as_it_was_written(name, rows, threshold, date):
    frame = Frame(DIGEST, rows, threshold, name, date)
    back = frame_of_text(str(frame))
    assert back == frame._replace(name=" ".join(name.split()))
    assert str(back) == str(frame)
    assert "\n" not in str(frame)


@pytest.mark.parametrize(
    "name",
    ["week 7", "a; b", "9 rows; scores 5f0c31d2a9be", "3 rows below 2; drawn 2026-01-01", "Zürich"],
)
def test_names_that_look_like_a_frame_are_names(name):
    frame = Frame(DIGEST, 4964, 2.5, name, "2026-02-16")
    assert frame_of_text(str(frame)) == frame
    assert frame_of_text(f"  {frame} ") == frame  # as a cell of a table may come back


def test_the_text_of_a_frame():
    """The form is kept in files: a change of it makes old lists unreadable."""
    assert str(Frame(DIGEST, 4964, 2.5, "week 7", "2026-02-16")) == (
        "week 7; 4,964 rows below 2.5; drawn 2026-02-16; scores 5f0c31d2a9be"
    )
    assert str(Frame(DIGEST, 12)) == "12 rows; scores 5f0c31d2a9be"
    assert frame_of_text("12 rows; scores 5f0c31d2a9be") == Frame(DIGEST, 12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        float("nan"),
        3,
        "week 7",
        "12 rows",
        "12 rows; scores 5F0C31D2A9BE",
        "12 rows; scores 5f0c31d2a9b",
        "12 rows below two; scores 5f0c31d2a9be",
        "rows below 2.5; scores 5f0c31d2a9be",
    ],
)
def test_other_texts_describe_no_frame(text):
    assert frame_of_text(text) is None


def test_lists_of_the_same_rows_have_the_same_scores_and_name():
    first = Frame(DIGEST, 60, 2.5, "w", "2026-02-16")
    assert first.of == Frame(DIGEST, 40, 2.5, "w", "2026-03-01").of  # drawn from what was left
    assert first.of != first._replace(name="v").of
    assert first.of != first._replace(digest="0" * 12).of


def test_digests_tell_sets_of_scores_apart_whatever_their_order(rng):
    scores = rng.normal(size=500).round(2)
    before = scores.copy()
    whole = digest_of(scores)
    assert digest_of(scores[rng.permutation(500)]) == whole
    assert digest_of(scores.tolist()) == whole
    assert digest_of(-scores) != whole
    assert digest_of(scores[1:]) != whole
    more = scores.copy()
    more[7] = np.nextafter(more[7], 9.0)
    assert digest_of(more) != whole
    assert digest_of(np.append(scores, scores[0])) != whole
    assert (scores == before).all()  # the caller's scores are not sorted


def test_a_zero_has_no_sign():
    assert digest_of(np.array([0.0, 1.0])) == digest_of(np.array([-0.0, 1.0]))


def test_golden_digest():
    """Digests are kept in files, and must be the same on every machine."""
    assert digest_of(np.arange(5.0)) == "802acb89472e"  # blake2b of 40 bytes, little-endian
