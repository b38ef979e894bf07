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
from scarce.errors import DataError, DataWarning, UsageError
from scarce.io import open
from scarce.io import source as table_source
from scarce.io import text as complaints
from scarce.io.open import open_rows
from scarce.io.schema import refuse_mixed
from scarce.io.text import look_at_head

BODY = "a,b\n1,2\n3,4\n"


@pytest.fixture(params=["in one go", "streamed"])
def reading(request, monkeypatch):
    """Open text as small files are, and as large ones are."""
    if request.param == "streamed":
        monkeypatch.setattr(table_source, "WHOLE_TEXT_BYTES", 0)
    return request.param


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
    "utf-16": (BODY.encode("utf-16"), {}, r"is UTF-16 text, not utf-8\. Pass encoding='utf-16'\."),
    "utf-16, no mark": (BODY.encode("utf-16-be"), {}, r"Pass encoding='utf-16-be'\."),
    "utf-16 as latin": (BODY.encode("utf-16-le"), {"encoding": "latin-1"}, "'utf-16-le'"),
    "utf-32": (BODY.encode("utf-32"), {}, r"Pass encoding='utf-32'\."),
    "not utf-16": (BODY, {"encoding": "utf-16"}, "is not utf-16 text.*Leave encoding= out"),
    "UTF-8 as latin": ("\ufeff" + BODY, {"encoding": "latin-1"}, r"Pass encoding='utf-8'\."),
    "zeros": ("a,b\n1,2\0\n", {}, r"bytes of value 0 \(NUL\), the first on line 2"),
    "late zeros": (HOLLOW + "x\0,2\n", {}, r"column 'a': the value 'x\\x00' holds a byte of value"),
    "only zeros": (bytes(5000), {}, r"\(NUL\), the first on line 1"),
    "mark only": ("\ufeff", {}, "holds no table, only blank"),
    "blank": ("\n \n\n", {}, "holds no table, only blank"),
    "header only": ("a,b", {}, "has no rows: its one line.*header=False"),
    "header only, CRLF": ("a,b\r\n", {}, "has no rows: its one line"),
    "header over two lines": ('"a\nb",c\n', {}, "has no rows"),
    "repeated": ("a,b,a\n1,2,3\n", {}, "Column name 'a' appears 2 times"),
    "nameless": ("a,,\n1,2,3\n", {}, "2 columns have no name"),
    "too many": ("a,b\n1,2\n\n1,2,3\n", {}, r"line 4 has 3 values \('1,2,3'\) and the first has 2"),
    "too few": ('a,b\n"x\ny",2\nz\n', {}, r"line 4 has 1 value \('z'\) and the first has 2"),
    "over two lines": ('a,b\n1,2\n"x\ny",2,3\n', {}, r"line 3 has 3 values"),
    "late": (HOLLOW + "1,2,3\n", {}, r"line 20,002 has 3 values"),
    "ends in commas": ("a,b\n1,2,\n", {}, r"has 3 values \('1,2,'\), the last one empty"),
    "semicolons": ("a;b\n1;2\n", {}, r"separated by ';'\. Pass delimiter=';'\."),
    "semicolons and commas": ("a;b\n1,5;2\n", {}, r"delimiter=';' and.* decimal=','\."),
    "decimal commas": ("a|b\n1,5|2\n", {"delimiter": "|"}, r"comma\. Pass decimal=','; if"),
    "decimal points": ("a;b\n1.5;2\n", {"delimiter": ";", "decimal": ","}, r"Pass decimal='\.'"),
    "thousands": ('a,b\n"1,234,567",2\n7,1\n8,3\n', {}, "separators of thousands. Take them out"),
    "workbook": (b"PK\3\4" + bytes(99), {}, "is a workbook or a ZIP archive, not text"),
    "packed": (gzip.compress(BODY.encode()), {}, r"packed by gzip.* end in \.csv\.gz"),
    "web page": ("<!DOCTYPE html>\n<p>no\n", {}, "is a web page"),
    "spreadsheet": ("sep=;\na;b\n1;2\n", {}, r"begins with 'sep=;'.*Delete that line"),
    "names not UTF-8": (b"a\xac,b\n1,2\n", {}, "is not utf-8 text.*Pass its encoding"),
    "a long word": ("a,b\n1,2\n2,2\n" + "x" * 5000 + ",3\n", {}, r"'xxx.*\.\.\. at row 2 is not"),
    "words for weights": ('a,w\n1,2\n1,"1,0"\n', {"weight": "w"}, "'w' holds '1,0' at row 1"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_cannot_be_read_gets_one_sentence(tmp_path, reading, case):
    content, how, words = REFUSED[case]
    with pytest.raises(DataError, match=words) as caught:
        open_rows(put(tmp_path, content), **how)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert not list(tmp_path.glob("**/*.arrow")), "no half cache"


def test_the_column_of_a_late_word_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(table_source, "WHOLE_TEXT_BYTES", 0)
    path = put(tmp_path, "a,b,c\n" + "1,2,3\n" * 1_500_000 + "1,2,oops\n")
    with pytest.raises(DataError, match=r"column 'c': CSV conversion error .*'oops'"):
        open_rows(path, columns=["c", "a"])


def test_a_long_file_is_not_searched_for_its_line():
    ragged = b"a,b\n" + b"1,2\n" * 100 + b"1\n"
    assert complaints.ragged_line(io.BytesIO(ragged), ",", most=10) is None
    assert "line 102 " in complaints.ragged_line(io.BytesIO(ragged), ",")
    assert complaints.ragged_line(io.BytesIO(b"a,b\n1,2\n"), ",") is None
    huge = b'a\n"' + b"x" * 200_000 + b'"\n1,2\n'
    assert complaints.ragged_line(io.BytesIO(huge), ",") is None, "the csv module's own limit"


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"encoding": "utf-99"}, r"encoding='utf-99' is not known\. Did you mean 'utf-8'"),
        ({"encoding": "base64"}, "encoding='base64' is not known"),
        ({"delimiter": "::"}, "delimiter='::' is not one character"),
        ({"delimiter": ""}, "delimiter='' is not one character"),
        ({"delimiter": "\n"}, "is not one character that can stand within a line"),
        ({"decimal": "\u066b"}, "is not one character"),
    ],
)
def test_forms_that_no_text_has_are_refused(tmp_path, form, words):
    with pytest.raises(UsageError, match=words):
        open_rows(put(tmp_path, BODY), **form)


def test_a_head_cut_within_a_letter_is_no_reason_to_refuse():
    look_at_head("a", "a,b\nK\u00f6".encode()[:-1], whole=False)
    look_at_head("a", "a,b\nK\u00f6".encode("utf-16")[:-1], whole=False, encoding="utf-16")
    look_at_head("a", b"x\n", whole=False)  # a long file may begin with a short line
    look_at_head("a", b"1,2\n", whole=True, header=False)


def written(words, decimal="."):
    try:
        refuse_mixed("a", dict.fromkeys(words, 1), lambda word: 0, decimal)
    except DataError as error:
        return str(error)
    return ""


def test_ways_of_writing_numbers_are_told_apart():
    assert "comma or a separator" in written(["1,234", "77"])
    assert "decimal comma. Pass" in written(["1,234", "1,5"])
    assert "thousands. Take" in written(["1,234", "1,234,567"])
    assert "thousands. Take" in written(["1 234", "7"])
    assert "thousands. Take" in written(["1\u202f234", "1'234"])
    assert "thousands. Take" in written(["1.234,5", "7,5"], ",")
    assert "decimal point. Pass decimal='.'" in written(["1.5", "2,5"], ",")
    assert "sign beside" in written(["5 %", "\u20ac7"])
    assert "'red' at row 0 is not a number" in written(["red", "1", "2"])
    assert written(["red", "green", "1"]) == ""
    assert written(["007", "1.5"]) == "", "text columns of Parquet may hold codes"


def test_a_column_of_numbers_with_a_typo_is_pointed_out(tmp_path):
    """One cell 'l' among ones makes two levels, half of which are words: a category, but said."""
    path = tmp_path / "typo.csv"
    path.write_text("a,b\n" + "1,0.5\n" * 70 + "l,0.5\n" + "1,0.7\n" * 29)
    with pytest.warns(DataWarning) as said:
        rows = open_rows(path)
    assert rows.schema.columns[0].levels == ("1", "l")
    (text,) = [str(one.message) for one in said]
    assert "'l' at row 70 is not a number (1 such cell), while 99 of 100 are" in text
    assert "missing=['l']" in text
    assert "categories=['a']" in text
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
    with pytest.warns(DataWarning, match=r"'zip' holds values such as '00501', .*\(501\)") as said:
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
    monkeypatch.setattr(table_source, "block_rows", lambda _: 10_000)
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
