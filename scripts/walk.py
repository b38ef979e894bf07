"""How far does one command walk through the house?

    python scripts/walk.py scarce fit train.csv --label fraud --model rare --out m.scarce

Runs the command in this process and prints how many functions and modules of scarce it called, and
how often, in the order in which a reader meets the functions, the next one is in another room.
Lists the modules with --modules.
"""

from __future__ import annotations

import inspect
import sys
import threading
from pathlib import Path
from types import FrameType


def main(words: list[str]) -> None:
    """Run the command and print the counts."""
    import scarce

    source = str(Path(scarce.__file__).parent)
    functions: set[tuple[str, str, int]] = set()
    modules: set[str] = set()
    rooms: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(source):
            return
        if not code.co_flags & inspect.CO_OPTIMIZED:  # the body of a module or of a class
            return
        name = code.co_filename[len(source) + 1 :]
        own = (name, code.co_name, code.co_firstlineno)
        if own in functions:
            return
        functions.add(own)
        modules.add(name)
        room = name.split("/")[0].removesuffix(".py")
        if not rooms or rooms[-1] != room:
            rooms.append(room)

    from scarce.cli.main import scarce as command

    shown = "--modules" in words
    words = [word for word in words[1:] if word != "--modules"]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        command.main(words, prog_name="scarce", standalone_mode=False)
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    print(
        f"{len(functions)} functions, {len(modules)} modules, {len(set(rooms))} rooms, "
        f"{len(rooms) - 1} room changes (exit code {code})",
        file=sys.stderr,
    )
    if shown:
        print("\n".join(sorted(modules)), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
