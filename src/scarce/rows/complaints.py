"""What Arrow says of a bad file, in words that its owner can act on."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from scarce.errors import DataError


class said_well:
    """Turn what Arrow says of a bad file into what its owner can act on."""

    def __init__(self, where: str, encoding: str = "") -> None:
        self.where = where
        self.encoding = encoding

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (pa.ArrowException, OSError, UnicodeDecodeError)):
            raise DataError(self._words(str(error))) from error

    def _words(self, text: str) -> str:
        first = text.splitlines()[0] if text else "no reason given"
        if len(first) > 120:
            first = first[:120] + " ..."
        low = text.lower()
        if "expected" in low and "columns, got" in low:
            return (
                f"{self.where} is ragged: {first}. Every line needs as many values as the header; "
                "check for a missing or an unquoted delimiter."
            )
        if "straddling" in low:
            return (
                f"{self.where} has a line of over 8 MB, which is not a row of a table. Check the "
                "line ends and the delimiter, or an unclosed quote."
            )
        if "utf8" in low or "utf-8" in low or "codec" in low or "decode" in low:
            return (
                f"{self.where} is not {self.encoding or 'UTF-8'} text ({first}). Pass its "
                "encoding, such as encoding='latin-1'."
            )
        if "empty csv" in low:
            return f"{self.where} holds no table: {first}. Check how it was written."
        if "conversion error" in low:
            return (
                f"{self.where}: {first}. If the value means missing, pass missing=[...]; if the "
                "column is a category, pass categories=[...]."
            )
        return (
            f"{self.where} cannot be read ({first}). It may be cut short or damaged: copy or write "
            "it again."
        )
