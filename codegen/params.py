"""`#line` directives around the params of a spec that a template's output contains.

Params are GLSL that is written in the spec, so that the compiler's errors in them must name the
spec. `mark()` marks params while Jinja renders, `place()` replaces the marks in its output.
"""

from __future__ import annotations

import re

from spec_model.errors import LocatedText, Position

# Private-use characters: one for the begin of each param, and one for all ends.
_FIRST, _LAST, _END = 0xE000, 0xF8FE, "\uf8ff"
_TOKEN = re.compile(
    rf"^#line (?P<line>\d+) \"(?P<file>.*)\"\n"
    rf"|(?P<newline>\n)"
    rf"|(?P<begin>[{chr(_FIRST)}-{chr(_LAST)}])(?P<text>[^{_END}]*){_END}",
    re.MULTILINE,
)
_ATOM = re.compile(r"[\w.]*")
# Text before and behind a param that a line break would change: directives, comments, tokens.
_UNBREAKABLE = re.compile(r"\s*#|.*//|.*\w\Z", re.DOTALL)
_BINDS = re.compile(r"\w|.*\\\n")


class Params:
    """The params in one output."""

    def __init__(self) -> None:
        self._positions: list[Position] = []

    def mark(self, value: object) -> object:
        """The value, marked if it is a param of more than a word. For Jinja's `finalize`."""
        if not isinstance(value, LocatedText) or _ATOM.fullmatch(value):
            return value
        index = _FIRST + len(self._positions)
        if index > _LAST:
            return value
        self._positions.append(value.position)
        return f"{chr(index)}{value}{_END}"

    def place(self, output: str) -> str:
        """The output with directives instead of marks."""
        if not self._positions:
            return output
        file, line, before, start = "", 0, "", 0  # `before`: the current line, with continued ones
        pieces: list[str] = []
        for match in _TOKEN.finditer(output):
            text = output[start : match.start()]
            before += text
            start = match.end()
            pieces.append(text)
            if match["file"] is not None:
                file, line, before = match["file"], int(match["line"]), ""
                pieces.append(match[0])
            elif match["newline"]:
                line += 1
                before = before if text.endswith("\\") else ""
                pieces.append(match[0])
            elif not file or _UNBREAKABLE.match(before) or _BINDS.match(output, start):
                before += match["text"]
                pieces.append(match["text"])
            else:
                position = self._positions[ord(match["begin"]) - _FIRST]
                pieces.append(f'\n#line {position.line} "{position.file}"\n{match["text"]}')
                pieces.append(f'\n#line {line} "{file}"\n')
                before = ""
        return "".join([*pieces, output[start:]])
