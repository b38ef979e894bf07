"""Rows and the one engine that every fit runs on: folds, maps and many fits, with the same bits."""

from scarce.rows.block import Block, block_rows
from scarce.rows.cache import CachedRows
from scarce.rows.engines import many, one_blas_thread
from scarce.rows.files import PartedRows
from scarce.rows.memory import ArrayRows, TableRows, decode
from scarce.rows.open import open_rows
from scarce.rows.rows import Rows, add
from scarce.rows.schema import Column, Schema
from scarce.rows.text import TextForm

__all__ = [
    "open_rows",
    "Rows",
    "ArrayRows",
    "TableRows",
    "PartedRows",
    "CachedRows",
    "Block",
    "Schema",
    "Column",
    "TextForm",
    "many",
    "add",
    "decode",
    "block_rows",
    "one_blas_thread",
]
