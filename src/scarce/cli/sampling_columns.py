"""Columns of the sampling design: weights, inclusion probabilities, groups.

    --weight COLUMN      --inclusion COLUMN      --groups COLUMN

Invalid values are refused with their column and place. A column `policy`, as `scarce label` writes
it, says which rows were chosen by rule: these are no draw, whatever their probability. Rows with
the same value of --id belong together, as rows of one group do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scarce.cli.next_command import shell_word
from scarce.cli.options import Group, names_of
from scarce.cli.output import say
from scarce.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from scarce.io.source import TableSource
    from scarce.io.text import TextForm


@dataclass(frozen=True)
class SamplingFlags:
    """Which columns say for whom a row stands, as typed."""

    weight: str | None = None
    weight_kind: str = "survey"
    inclusion: str | None = None
    groups: str | None = None

    @property
    def given(self) -> dict[str, str]:
        """Flag and column of those that were typed."""
        flags = {"--weight": self.weight, "--inclusion": self.inclusion, "--groups": self.groups}
        return {flag: column for flag, column in flags.items() if column is not None}


CHANCE, POLICY, FRAME = "inclusion", "policy", "frame"  # of a list, as `scarce label` names them

SAMPLING = Group("sampling", names_of("sampling"), SamplingFlags)


def weight_column(source: TableSource, table: pa.Table, name: str | None, form: TextForm) -> Any:
    """Return the weights of the rows: numbers without holes, finite and from 0 on."""
    if name is None:
        return None
    import numpy as np

    from scarce.io.values import number_column

    values = number_column(table, name, where=source.where)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            "{table}, column {column!r} (--weight): weights must be finite and >= 0, got "
            "{value:g}{at}.",
            code="weight-range",
            table=source.where,
            column=name,
            value=values[row],
            at=source.find.place(row),
        )
    if not values.any():
        raise DataError(
            "{table}, column {column!r} (--weight): all weights are 0.",
            code="no-weight",
            table=source.where,
            column=name,
        )
    return values


def is_policy(kind: pa.DataType | None) -> bool:
    """Whether a column may hold words, as that of policies does."""
    import pyarrow as pa

    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    return kind is not None and bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def inclusion_column(
    source: TableSource, table: pa.Table, name: str | None, known: Any = None
) -> Any:
    """Return the probability with which each row was drawn, NaN where it was not.

    Parameters
    ----------
    source : TableSource
    table : pyarrow.Table
        With the column, and that of policies where the file has one.
    name : str or None
    known : array of bool, optional
        Which rows have a label: some must not have been chosen by rule.
    """
    if name is None:
        return None
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from scarce.io.values import number_column
    from scarce.missed.choose import BY_RULE

    chance = number_column(table, name, where=source.where)
    if POLICY not in table.column_names:
        return chance
    words = table.column(POLICY)
    if not is_policy(words.type):
        return chance  # a policy of another kind
    if pa.types.is_dictionary(words.type):
        words = words.cast(words.type.value_type)
    words = pc.utf8_lower(pc.utf8_trim_whitespace(words))
    by_rule = pc.fill_null(pc.is_in(words, value_set=pa.array(BY_RULE, words.type)), False)
    rule = by_rule.to_numpy(zero_copy_only=False) & ~np.isnan(chance)
    labelled = rule if known is None else known
    if rule.any() and rule[labelled].all():
        raise DataError(
            "{table}: all {count:,} labelled rows were chosen by rule (column {column!r}: "
            "{words}), so none of them stands for another row, whatever --inclusion says.",
            code="chosen-by-rule",
            table=source.where,
            count=int(labelled.sum()),
            column=POLICY,
            words=", ".join(sorted(set(words.filter(pa.array(rule)).to_pylist()))),
            remedy=[
                "Draw some rows at random (--policy random, or --explore).",
                "Leave --inclusion out to judge the labelled rows alone.",
            ],
        )
    return np.where(rule, 1.0, chance)


def group_column(source: TableSource, table: pa.Table, name: str | None, form: TextForm) -> Any:
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
            "{table}, column {column!r} (--groups) holds {kind}, not one value per row.",
            code="nested-column",
            table=source.where,
            column=name,
            kind=values.type,
            remedy="Name another column.",
        )
    if values.null_count:
        row = int(np.argmax(pc.is_null(values).to_numpy(zero_copy_only=False)))
        raise DataError(
            "{table}, column {column!r} (--groups): no value{at}.",
            code="missing-group",
            table=source.where,
            column=name,
            at=source.find.place(row),
            remedy="Every row needs a group; give single rows a name of their own.",
        )
    coded = pc.dictionary_encode(values).combine_chunks()
    codes = np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.intp)
    if codes.max() == 0:
        raise DataError(
            "{table}, column {column!r} (--groups): all rows are in one group.",
            code="one-group",
            table=source.where,
            column=name,
            remedy="Leave --groups out, or give rows of more groups.",
        )
    return codes


def columns_as_written(source: TableSource, names: Sequence[str]) -> Any:
    """Return some columns of a file, text as it is written and null where it means missing."""
    import pyarrow as pa

    names = list(dict.fromkeys(names))
    parts = source.tables(names, exact=True)
    if source.is_text:
        parts = (source.without_blanks(part, names) for part in parts)
    return pa.concat_tables(parts, promote_options="permissive")


def rows_together(table: pa.Table, groups: Any, ids: Sequence[str]) -> Any:
    """Return the group of each row: rows of one group, or of one id, belong together.

    Parameters
    ----------
    table : pyarrow.Table
        The columns of ids, of all rows.
    groups : array of int, or None
        From `group_column`.
    ids : sequence of str
        Columns that name rows; where several rows have one name, that is said.

    Returns
    -------
    array of int of shape (n,), or None
        None where every row stands alone.
    """
    import numpy as np

    linked = [] if groups is None else [np.asarray(groups, dtype=np.intp)]
    for name in dict.fromkeys(ids):
        codes = _named_rows(table.column(name))
        often = np.bincount(codes)
        shared = int(often[often > 1].sum())
        if not shared:
            continue
        linked.append(codes)
        say(
            f"Column {name!r} (--id): {shared:,} of {len(codes):,} rows share their value with "
            f"another row ({int((often > 1).sum()):,} values), and stay in one fold. If the "
            f"column does not group rows, leave it out with --drop {shell_word(name)} instead."
        )
    if not linked:
        return None
    label = np.arange(len(linked[0]))
    while True:  # rows that are linked by any column get the least number among them
        before = label
        for codes in linked:
            least = np.full(int(codes.max()) + 1, len(label))
            np.minimum.at(least, codes, label)
            label = least[codes]
        if np.array_equal(label, before):
            return np.unique(label, return_inverse=True)[1]


def _named_rows(values: pa.ChunkedArray) -> Any:
    """Return a number for each name; a row without one gets a number of its own."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    codes = pc.dictionary_encode(values).combine_chunks().indices
    codes = codes.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    lost = np.flatnonzero(codes < 0)
    codes = np.array(codes, dtype=np.intp)
    codes[lost] = codes.max(initial=-1) + 1 + np.arange(len(lost))
    return codes
