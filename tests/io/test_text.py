"""Text as people have it: marks, line ends, encodings, commas; and how far the reading is."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from scarce.engine.machine import Walks
from scarce.errors import Argument, DataError, UsageError
from scarce.io import open, parts
from scarce.io import source as table_source
from scarce.io.locate import Locator
from scarce.io.open import open_rows
from scarce.io.text import look_at_head
from scarce.io.values import refuse_mixed
from tests.problems import refused, warned

BODY = "a,b\n1,2\n3,4\n"


@pytest.fixture(params=["in one go", "streamed"])
def reading(request, monkeypatch):
    """Open text as small files are, and as large ones are."""
    if request.param == "streamed":
        monkeypatch.setattr(table_source, "WHOLE_TEXT_BYTES", 0)
    return request.param


def encode(name):
    return {"encoding": Argument("encoding", name)}


def number(column, value, way):
    return "not-a-number", {"column": column, "value": value, "written": way}


def put(folder, content, name="a.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "how"),
    [
        ("\ufeff" + BODY, {}),
        ("\ufeff" + BODY, {"encoding": "utf-8-sig"}),
        (BODY, {"encoding": "utf-8-sig"}),
        ('\ufeff"a","b"\n1,2\n3,4\n', {}),
        (BODY.replace("\n", "\r\n"), {}),
        (BODY.replace("\n", "\r"), {}),
        ("a,b\r\n1,2\n\n3,4", {}),
        (BODY.encode("utf-16"), {"encoding": "utf-16"}),
        (BODY.encode("utf-16-be"), {"encoding": "utf-16-be"}),
        (BODY.encode("utf-32"), {"encoding": "utf-32"}),
        ('a,b\n"1,0",2\n"3,0","4"\n', {"decimal": ","}),
        ("a;b\n1,0;2\n3;4,00\n", {"delimiter": ";", "decimal": ","}),
    ],
    ids=str,
)
def test_text_of_every_make_reads_the_same(tmp_path, reading, content, how):
    rows = open_rows(put(tmp_path, content), **how)
    assert rows.names == ("a", "b")
    np.testing.assert_array_equal(next(rows.blocks()).X, [[1, 2], [3, 4]])


HOLLOW = "a,b\n" + "1,2\n" * 20_000
REFUSED = {
    "utf-16": (BODY.encode("utf-16"), {}, "wrong-encoding", encode("utf-16")),
    "utf-16, no mark": (BODY.encode("utf-16-be"), {}, "wrong-encoding", encode("utf-16-be")),
    "utf-16 as latin": (
        *(BODY.encode("utf-16-le"), {"encoding": "latin-1"}),
        *("wrong-encoding", encode("utf-16-le")),
    ),
    "utf-32": (BODY.encode("utf-32"), {}, "wrong-encoding", encode("utf-32")),
    "not utf-16": (BODY, {"encoding": "utf-16"}, "wrong-encoding", {"encoding": "utf-16"}),
    "UTF-8 as latin": (
        *("\ufeff" + BODY, {"encoding": "latin-1"}),
        *("wrong-encoding", encode("utf-8")),
    ),
    "zeros": ("a,b\n1,2\0\n", {}, "nul-bytes", {"line": 2}),
    "late zeros": (HOLLOW + "x\0,2\n", {}, "nul-bytes", {"line": 20_002}),
    "only zeros": (bytes(5000), {}, "nul-bytes", {"line": 1}),
    "mark only": ("\ufeff", {}, "empty-file", {}),
    "blank": ("\n \n\n", {}, "empty-file", {}),
    "header only": ("a,b", {}, "no-rows", {"header": Argument("header", False)}),
    "header only, CRLF": ("a,b\r\n", {}, "no-rows", {}),
    "header over two lines": ('"a\nb",c\n', {}, "no-rows", {}),
    "repeated": ("a,b,a\n1,2,3\n", {}, "duplicate-column", {"column": "a", "count": 2}),
    "nameless": ("a,,\n1,2,3\n", {}, "duplicate-column", {"column": "", "count": 2}),
    "too many": ("a,b\n1,2\n\n1,2,3\n", {}, "ragged-line", {"line": 4}),
    "too few": ('a,b\n"x\ny",2\nz\n', {}, "ragged-line", {"line": 4}),
    "over two lines": ('a,b\n1,2\n"x\ny",2,3\n', {}, "ragged-line", {"line": 3}),
    "late": (HOLLOW + "1,2,3\n", {}, "ragged-line", {"line": 20_002}),
    "ends in commas": ("a,b\n1,2,\n", {}, "ragged-line", {"line": 2}),
    "semicolons": ("a;b\n1;2\n", {}, "wrong-delimiter", {"mark": ";"}),
    "semicolons and commas": ("a;b\n1,5;2\n", {}, "wrong-delimiter", {"mark": ";"}),
    "decimal commas": ("a|b\n1,5|2\n", {"delimiter": "|"}, *number("a", "1,5", "comma")),
    "decimal points": (
        *("a;b\n1.5;2\n", {"delimiter": ";", "decimal": ","}),
        *number("a", "1.5", "point"),
    ),
    "thousands": ('a,b\n"1,234,567",2\n7,1\n8,3\n', {}, *number("a", "1,234,567", "thousands")),
    "a minus of typesetters": ("a,b\n1,2\n\u22125,2\n7,1\n", {}, *number("a", "\u22125", "ascii")),
    "Arabic digits": ("a,b\n1,2\n\u0663,2\n7,1\n", {}, *number("a", "\u0663", "ascii")),
    "an invisible joiner": ("a,b\n1,2\n5\u200b,2\n7,1\n", {}, *number("a", "5\u200b", "ascii")),
    "workbook": (b"PK\3\4" + bytes(99), {}, "foreign-format", {}),
    "web page": ("<!DOCTYPE html>\n<p>no\n", {}, "foreign-format", {"value": "<!DOCTYPE html>"}),
    "spreadsheet": ("sep=;\na;b\n1;2\n", {}, "spreadsheet-note", {"value": "sep=;"}),
    "names not UTF-8": (b"a\xac,b\n1,2\n", {}, "wrong-encoding", {}),
    "a long word": (
        *("a,b\n1,2\n2,2\n" + "x" * 5000 + ",3\n", {}),
        *number("a", "x" * 5000, "word"),
    ),
    "words for weights": ('a,w\n1,2\n1,"1,0"\n', {"weight": "w"}, *number("w", "1,0", "comma")),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_cannot_be_read_gets_one_sentence(tmp_path, reading, case):
    content, how, code, seen = REFUSED[case]
    path = put(tmp_path, content)
    with refused(code, DataError, file=str(path), **seen) as caught:
        open_rows(path, **how)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert not list(tmp_path.glob("**/*.arrow")), "no half cache"


def test_compression_is_seen_from_the_content(tmp_path, reading):
    rows = open_rows(put(tmp_path, gzip.compress(BODY.encode())))
    np.testing.assert_array_equal(next(rows.blocks()).X, [[1, 2], [3, 4]])


def test_the_column_of_a_late_word_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(table_source, "WHOLE_TEXT_BYTES", 0)
    path = put(tmp_path, "a,b,c\n" + "1,2,3\n" * 1_500_000 + "1,2,oops\n")
    with refused("not-a-number", DataError, column="c", value="oops", line=1_500_002):
        open_rows(path, columns=["c", "a"])


def test_a_long_file_is_not_searched_for_its_line():
    def ragged(raw, **how):
        return Locator("a.csv", text=lambda: io.BytesIO(raw)).ragged(**how)

    long = b"a,b\n" + b"1,2\n" * 100 + b"1\n"
    assert ragged(long, most=10) is None
    assert ragged(long).fields["line"] == 102
    assert ragged(b"a,b\n1,2\n") is None
    huge = b'a\n"' + b"x" * 200_000 + b'"\n1,2\n'
    assert ragged(huge) is None, "the csv module's own limit"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"encoding": "utf-99"}, "unknown-encoding"),
        ({"encoding": "base64"}, "unknown-encoding"),
        ({"delimiter": "::"}, "text-mark"),
        ({"delimiter": ""}, "text-mark"),
        ({"delimiter": "\n"}, "text-mark"),
        ({"decimal": "\u066b"}, "text-mark"),
    ],
)
def test_forms_that_no_text_has_are_refused(tmp_path, form, words):
    with refused(words, UsageError):
        open_rows(put(tmp_path, BODY), **form)


def test_a_head_cut_within_a_letter_is_no_reason_to_refuse():
    look_at_head("a", "a,b\nK\u00f6".encode()[:-1], whole=False)
    look_at_head("a", "a,b\nK\u00f6".encode("utf-16")[:-1], whole=False, encoding="utf-16")
    look_at_head("a", b"x\n", whole=False)  # a long file may begin with a short line
    look_at_head("a", b"1,2\n", whole=True)


def written(words, decimal="."):
    try:
        refuse_mixed("a", dict.fromkeys(words, 1), lambda word: 0, decimal)
    except DataError as error:
        return error.fields["written"]
    return ""


def test_ways_of_writing_numbers_are_told_apart():
    assert written(["1,234", "77"]) == "either"
    assert written(["1,234", "1,5"]) == "comma"
    assert written(["1,234", "1,234,567"]) == "thousands"
    assert written(["1 234", "7"]) == "thousands"
    assert written(["1\u202f234", "1'234"]) == "thousands"
    assert written(["1.234,5", "7,5"], ",") == "thousands"
    assert written(["1.5", "2,5"], ",") == "point"
    assert written(["5 %", "\u20ac7"]) == "beside"
    assert written(["\u22125", "7"]) == written(["5\u00a0", "7"]) == "ascii"
    assert written(["red", "1", "2"]) == "word"
    assert written(["red", "green", "1"]) == ""
    assert written(["007", "1.5"]) == "", "text columns of Parquet may hold codes"


def test_a_column_of_numbers_with_a_typo_is_pointed_out(tmp_path):
    """One cell 'l' among ones makes two levels, half of which are words: a category, but said."""
    path = tmp_path / "typo.csv"
    path.write_text("a,b\n" + "1,0.5\n" * 70 + "l,0.5\n" + "1,0.7\n" * 29)
    cell = {"value": "l", "row": 70, "line": 72, "column": "a", "file": str(path)}
    settled = {"missing": Argument("missing", ["l"]), "categories": Argument("categories", ["a"])}
    with warned("not-a-number", **cell, **settled) as said:
        rows = open_rows(path)
    assert len(said) == 1
    assert rows.schema.columns[0].levels == ("1", "l")
    assert open_rows(path, missing="l").schema.columns[0].kind == "number"
    open_rows(path, categories="a")  # as asked for: no word
    path.write_text("a,b\n" + "0,0.5\n" * 90 + "mild,0.5\n" * 5 + "bad,0.7\n" * 5)
    open_rows(path)  # a tenth of the cells: words, as a category has them


@pytest.mark.parametrize("small", [True, False])
def test_leading_zeros_are_not_lost_without_a_word(tmp_path, small, monkeypatch):
    path = tmp_path / "codes.csv"
    path.write_text('zip,"amount, net",share\n10001,1,0.5\n"00501",0,0\n00544,2,0.25\n')
    if not small:
        monkeypatch.setattr("scarce.io.source.WHOLE_TEXT_BYTES", 0)
    with warned("leading-zeros", column="zip", value="00501", number=501.0) as said:
        rows = open_rows(path)
    assert len(said) == 1
    open_rows(path, categories="zip")
    open_rows(path, drop="zip")
    open_rows(path, like=rows.schema)  # settled when the model was made
    assert rows.schema.columns[0].kind == "number"


# --- progress -------------------------------------------------------------------------------------


@pytest.fixture
def told():
    """A callback that keeps what it hears, and checks that it only rises."""

    class Told(list):
        def __call__(self, done, total):
            assert 0 <= done <= total
            assert not self or done >= self[-1][0]
            self.append((done, total))

    return Told()


def table(n=60_000):
    rng = np.random.default_rng(0)
    return pa.table(
        {"x": rng.normal(size=n), "c": rng.choice(["u", "v"], n), "y": rng.integers(0, 2, n)}
    )


@pytest.mark.parametrize("packed", [False, True])
def test_text_in_one_go_tells_its_bytes(tmp_path, told, packed):
    with pa.output_stream(str(tmp_path / ("a.csv.gz" if packed else "a.csv"))) as sink:
        pacsv.write_csv(table(), sink)
    path = next(tmp_path.glob("a.csv*"))
    rows = open_rows(path, label="y", progress=told)
    assert told[-1] == (path.stat().st_size,) * 2
    np.testing.assert_array_equal(
        next(rows.blocks()).X, next(open_rows(table(), label="y").blocks()).X
    )
    if not packed:
        assert len(told) > 2, "on the way, too"


def test_streamed_text_tells_both_walks(tmp_path, told, monkeypatch):
    monkeypatch.setattr(table_source, "WHOLE_TEXT_BYTES", 0)
    pacsv.write_csv(table(), tmp_path / "a.csv")
    size = (tmp_path / "a.csv").stat().st_size
    open_rows(tmp_path / "a.csv", label="y", progress=told)
    assert (size, 2 * size) in told, "code books first"
    assert told[-1] == (2 * size, 2 * size)
    told.clear()
    open_rows(tmp_path / "a.csv", label="y", progress=told)
    assert told[-1] == (size, size), "cached before"
    told.clear()
    open_rows(tmp_path / "a.csv", columns=["x"], progress=told)
    assert told[-1] == (size, size), "numbers need one walk"


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize("cache", [None, True])
def test_other_files_tell_their_rows(tmp_path, told, monkeypatch, kind, cache):
    monkeypatch.setattr(parts, "block_rows", lambda _: 10_000)
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(table(), path, row_group_size=10_000)
    else:
        feather.write_feather(table(), path, chunksize=10_000)
    open_rows(path, label="y", cache=cache, progress=told)
    assert told == [(10_000 * step, 120_000) for step in range(1, 13)]
    told.clear()
    open_rows(path, columns=["x"], cache=cache, progress=told)
    assert told[-1] == (60_000, 60_000)
    told.clear()
    monkeypatch.setattr(open, "IN_MEMORY_BYTES", 0)
    open_rows(path, label="y", cache=cache, progress=told)
    assert len(told) == 7, "streamed, or cached before: walked for code books only"
    assert told[5:] == [(60_000, 120_000), (60_000, 60_000)]


def test_a_callback_that_fails_stops_the_reading(tmp_path):
    pacsv.write_csv(table(), tmp_path / "a.csv")

    def fail(done, total):
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        open_rows(tmp_path / "a.csv", label="y", progress=fail)


def test_walks_never_pass_their_end(told):
    walks = Walks(told, 10)
    walks.begin(left=0)
    walks.at(12)
    assert told == [(10, 10)]
