import dataclasses

import numpy as np
import pytest

from scarce import datasets
from scarce.datasets import make_gibbs, make_rare


def test_every_public_name_exists_once_and_is_documented():
    assert len(set(datasets.__all__)) == len(datasets.__all__)
    for name in datasets.__all__:
        value = getattr(datasets, name)
        if callable(value):
            assert ">>> " in value.__doc__, f"{name} has no example"


def test_every_function_states_what_it_assumes():
    for name in datasets.__all__:
        value = getattr(datasets, name)
        if callable(value) and not isinstance(value, type):
            assert "**Assumes**" in value.__doc__, f"{name} does not say what it assumes"


def test_every_field_of_a_record_is_documented():
    for name in datasets.__all__:
        value = getattr(datasets, name)
        if dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                assert field.name in value.__doc__, f"{name}.{field.name}"


def test_records_are_frozen():
    sample = make_rare(3, random_state=0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        sample.y = np.zeros(3)


def test_drawn_places_are_the_labelled_and_the_test_places():
    sample = make_gibbs(random_state=0)
    wanted = np.isin(np.arange(200), np.r_[sample.labelled, sample.test])
    np.testing.assert_array_equal(sample.drawn, wanted)
