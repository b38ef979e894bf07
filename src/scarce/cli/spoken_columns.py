"""Columns that say whom a row speaks for: weights, probabilities of being drawn, groups.

    --weight COLUMN      --inclusion COLUMN      --groups COLUMN

A value that cannot be used is refused with its column and its place. Weighs nothing: see judged.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scarce.cli.bad_cells import place_of
from scarce.errors import DataError

if TYPE_CHECKING:
    from scarce.rows import TextForm
    from scarce.tables import TableSource


def weight_column(source: TableSource, table: Any, name: str | None, form: TextForm) -> Any:
    """Return the weights of the rows: numbers without holes, finite and from 0 on."""
    if name is None:
        return None
    import numpy as np

    from scarce.tables import number_column

    values = number_column(table, name, where=source.where)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"{source.where}, column {name!r} (--weight): {values[row]:g}"
            f"{place_of(source, row, form)}. A weight is a finite number from 0 on, in every row."
        )
    if not values.any():
        raise DataError(f"{source.where}, column {name!r} (--weight): all weights are 0.")
    return values


def inclusion_column(source: TableSource, table: Any, name: str | None) -> Any:
    """Return the probability with which each row was drawn, NaN where it was not."""
    if name is None:
        return None
    from scarce.tables import number_column

    return number_column(table, name, where=source.where)


def group_column(source: TableSource, table: Any, name: str | None, form: TextForm) -> Any:
    """Return the number of each row's group, from 0 on."""
    if name is None:
        return None
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    values = table.column(name)
    if pa.types.is_dictionary(values.type):  # which may differ from chunk to chunk
        values = values.cast(values.type.value_type)
    if pa.types.is_nested(values.type):
        raise DataError(
            f"{source.where}, column {name!r} (--groups) holds {values.type}, and one name or "
            "number per row is needed. Name another column."
        )
    if values.null_count:
        row = int(np.argmax(pc.is_null(values).to_numpy(zero_copy_only=False)))
        raise DataError(
            f"{source.where}, column {name!r} (--groups): no value{place_of(source, row, form)}. "
            "Every row belongs to some group; give rows that stand alone a name of their own."
        )
    coded = pc.dictionary_encode(values).combine_chunks()
    codes = np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.intp)
    if codes.max() == 0:
        raise DataError(
            f"{source.where}, column {name!r} (--groups): all rows are in one group, so that how "
            "groups differ cannot be seen. Leave --groups out, or give rows of more groups."
        )
    return codes
