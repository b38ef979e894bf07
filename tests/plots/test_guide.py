"""The guide's pictures: each one is made by the code above it, named alike, small, and described.

Run this file to draw them again: `python tests/plots/test_guide.py`.
"""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "guide" / "pictures.md"
FOLDER = ROOT / "docs" / "images" / "pictures"
SHOWN = re.findall(r"!\[([^]]*)\]\(\.\./images/pictures/(\w+)\.png\)", PAGE.read_text())


def test_every_picture_is_drawn_by_the_page_and_described():
    text = PAGE.read_text()
    assert {path.stem for path in FOLDER.iterdir()} == {name for _, name in SHOWN}
    for words, name in SHOWN:
        assert re.search(rf">>> {name} = plots\.\w+Display\.from_", text), name
        assert len(words) > 40, "say what is to be seen, for who cannot see it"
        assert (FOLDER / f"{name}.png").stat().st_size < 60_000


def test_every_display_is_on_the_page():
    import scarce.plots

    text = PAGE.read_text()
    for name in scarce.plots.__all__:
        assert f"plots.{name}." in text, name


def draw():
    """Run the page and keep its pictures."""
    names = {}
    source = doctest.DocTestParser().get_examples(PAGE.read_text())
    exec("".join(example.source for example in source), names)
    for _, name in SHOWN:
        figure = names[name].figure_
        figure.savefig(FOLDER / f"{name}.png", dpi=80, metadata={"Software": None})


if __name__ == "__main__":
    draw()
