"""Tables as streams: whole rows of a file or a pipe, walked in constant memory and written whole.

`open_table` reads CSV, TSV, Parquet and Arrow IPC; `write_tables` writes them. Models learn from
rows (see `scarce.rows`), which are numbers; a table keeps what its owner wrote.
"""

from scarce.tables.formats import format_of
from scarce.tables.sink import refuse_existing, with_formulas, write_tables
from scarce.tables.source import TableSource, open_table
from scarce.tables.values import blank_as_missing, number_column

__all__ = [
    "open_table",
    "TableSource",
    "number_column",
    "blank_as_missing",
    "write_tables",
    "with_formulas",
    "refuse_existing",
    "format_of",
]
