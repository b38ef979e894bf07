import numpy as np
import pytest

from scarce.datasets.arguments import choice, count, generator, matrix, number, share, vector
from scarce.errors import UsageError


def test_a_generator_is_used_as_it_is_and_an_integer_starts_anew():
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    assert generator(np.int64(4)).random() == generator(4).random()


@pytest.mark.parametrize("bad", [None, "0", 1.0, True, -1])
def test_what_is_no_seed_is_refused_with_the_value_seen(bad):
    with pytest.raises(UsageError, match="random_state"):
        generator(bad)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (lambda v: count("n", v), 0),
        (lambda v: count("n", v), 2.0),
        (lambda v: count("n", v), True),
        (lambda v: count("n", v, most=3), 4),
        (lambda v: share("s", v), 0.0),
        (lambda v: share("s", v), 1.0),
        (lambda v: share("s", v, closed=True), 1.1),
        (lambda v: share("s", v), float("nan")),
        (lambda v: share("s", v), "0.5"),
        (lambda v: number("s", v), float("inf")),
        (lambda v: number("s", v, above=0.0), 0.0),
        (lambda v: choice("c", v, ["a", "b"]), 3),
        (lambda v: matrix("X", v), [1.0, 2.0]),
        (lambda v: vector("y", v), [[1.0]]),
        (lambda v: vector("y", v, n=2), [1.0]),
    ],
)
def test_a_bad_argument_is_one_sentence_that_ends(check, value):
    with pytest.raises(UsageError) as caught:
        check(value)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message


def test_good_values_pass_unchanged():
    assert count("n", np.int32(3)) == 3
    assert share("s", 0, closed=True) == 0.0
    assert number("x", -2) == -2.0


def test_matrix_and_vector_copy():
    table, line = np.zeros((2, 2)), np.zeros(2)
    matrix("X", table)[0, 0] = 1.0
    vector("y", line)[0] = 1.0
    assert not table.any()
    assert not line.any()
