"""From a row to file, line and column, whichever way the table is written."""

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scarce.errors import DataError
from scarce.io.locate import Locator, at, cell_error, located
from scarce.io.open import open_rows
from scarce.io.source import open_table
from scarce.io.text import TextForm
from tests.problems import refused, warned

QUOTED = 'name,note,amount\n\nA,"two\nlines",1\nB,"x","3\n"\nC,"a\nb\nc",oops\n'


def locator(raw, names=("name", "note", "amount"), **how):
    raw = raw if isinstance(raw, bytes) else raw.encode(how.get("encoding", "utf-8"))
    return Locator("a.csv", lambda: names, lambda: io.BytesIO(raw), **how)


def test_the_line_of_a_row_and_of_a_cell():
    find = locator(QUOTED)
    assert [find.line(row) for row in range(4)] == [3, 5, 7, None]
    assert find.line(2, "amount") == 9, "the note before it runs over three lines"
    assert find.line(2, "name") == 7


@pytest.mark.parametrize(
    ("raw", "how", "line"),
    [
        ("1,2\n3,4\n", {"header": False}, 2),
        ("a;b\r\n1;2\r\n3;4\r\n", {"delimiter": ";"}, 3),
        ("a,b\n1,2\n3,4\n", {"encoding": "utf-16"}, 3),
        ("a,b\n1,2\n3,4", {}, 3),
    ],
)
def test_lines_are_counted_as_the_text_is_written(raw, how, line):
    assert locator(raw, ("a", "b"), **how).line(1) == line


def test_what_has_no_lines_says_the_row():
    assert Locator("a.parquet").line(3) is None
    assert Locator("a.parquet").place(1812) == " at row 1,812"
    assert locator(QUOTED).place(1) == " in line 5"
    assert at("age", 3, "a.parquet") == "a.parquet, column 'age', row 3"


def test_a_cell_that_csv_cannot_read_has_no_line():
    assert locator(b'a\n"' + b"x" * 200_000 + b'"\n').line(0) is None, "the csv module's limit"


def test_errors_get_their_file_once():
    with (
        refused("odd", DataError, file="a.csv", line=5, row=1, column="amount"),
        located(locator(QUOTED)),
    ):
        raise cell_error("{place} is odd.", code="odd", column="amount", row=1)
    with refused("odd", DataError, file="a.csv") as caught, located(locator(QUOTED)):
        raise DataError("Odd.", code="odd")
    assert str(caught.value) == "a.csv: Odd."
    with refused("odd", DataError, file="b.csv"), located(locator(QUOTED)):
        raise DataError("{file} is odd.", code="odd", file="b.csv")


# --- the same bad cell from every reader ----------------------------------------------------------

HEAD = "id,amount,y\n"
ROWS = "".join(f"{i},{i}.5,{i % 2}\n" for i in range(48))
BAD = HEAD + ROWS + "48,oops,1\n" + ROWS


def put(folder, text, name="a.csv"):
    path = folder / name
    raw = text.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.txt"])
@pytest.mark.parametrize("way", ["rows", "rows, streamed", "like", "numbers", "exact"])
def test_one_cell_one_sentence(tmp_path, monkeypatch, name, way):
    path = put(tmp_path, BAD, name)
    seen = {"file": str(path), "line": 50, "row": 48, "column": "amount", "value": "oops"}
    schema = open_rows(put(tmp_path, HEAD + ROWS, "good.csv"), label="y").schema
    if way == "rows, streamed":
        monkeypatch.setattr("scarce.io.source.WHOLE_TEXT_BYTES", 0)
    with refused("not-a-number", DataError, **seen) as caught:
        if way.startswith("rows"):
            open_rows(path, label="y")
        elif way == "like":
            open_rows(path, like=schema)
        else:
            for part in (source := open_table(path)).tables(
                numbers=["amount"] if way == "numbers" else (), exact=way == "exact"
            ):
                source.numbers(part, "amount")
    assert str(caught.value).startswith(f"{path}, line 50, column 'amount': 'oops' is not a number")


def test_a_pipe_has_no_lines():
    source = open_table(io.BytesIO((HEAD + ROWS * 40_000 + "1,oops,1\n").encode()))
    seen = {"file": "standard input", "line": None, "column": "amount", "value": "oops"}
    with refused("not-a-number", DataError, **seen):
        list(source.tables(numbers=["amount"]))


def test_a_word_among_many_numbers_is_pointed_out_with_its_line(tmp_path):
    words = "".join(f"w{i}\n" for i in range(30))
    path = put(tmp_path, "x\n" + "1\n" * 2000 + words)
    with warned("not-a-number", file=str(path), line=2002, column="x"):
        open_rows(path)


def test_other_cells_are_located_too(tmp_path):
    path = put(tmp_path, "x,w,y\n1,1,0\ninf,1,1\n")
    with refused("infinite-values", DataError, file=str(path), line=3, column="x"):
        open_rows(path, label="y")
    path = put(tmp_path, "x,w,y\n1,1,0\n2,-1,1\n")
    with refused("weight-range", DataError, file=str(path), line=3, column="w", value=-1.0):
        open_rows(path, label="y", weight="w")
    path = put(tmp_path, "c,y\nUlm,0\nBonn,1\n")
    like = open_rows(pa.table({"c": ["Ulm", "Jena"], "y": [0, 1]}), label="y").schema
    with refused("unknown-level", DataError, file=str(path), line=3, column="c"):
        open_rows(path, like=like)
    pq.write_table(pa.table({"x": [1.0, float("inf")]}), tmp_path / "a.parquet")
    with refused("infinite-values", file=str(tmp_path / "a.parquet"), line=None, row=1):
        open_rows(tmp_path / "a.parquet")


def test_the_decimal_point_is_that_of_the_text(tmp_path):
    path = put(tmp_path, "x;y\n1,5;0\n1.5;1\n2,5;0\n")
    with refused("not-a-number", file=str(path), line=3, value="1.5", written="point"):
        open_rows(path, delimiter=";", decimal=",", label="y")
    source = open_table(path, TextForm(delimiter=";", decimal=","))
    with refused("not-a-number", file=str(path), line=3, value="1.5", written="point"):
        list(source.tables(numbers=["x"]))
