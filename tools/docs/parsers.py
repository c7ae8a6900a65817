"""The argparse parsers as the reference shows them: their texts as reStructuredText."""

from __future__ import annotations

import argparse
import re


def spirloom() -> argparse.ArgumentParser:
    """The parser of the command `spirloom`."""
    from spirloom import cli

    return with_markup(cli._parser())


def codegen() -> argparse.ArgumentParser:
    """The parser of `python3 -m codegen`."""
    from codegen import cli

    return with_markup(cli._parser())


def with_markup(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """The parser and its subparsers, with texts that reStructuredText shows as they are."""
    parser.description = _paragraphs(parser.description)
    parser.epilog = _paragraphs(parser.epilog)
    for action in parser._actions:
        if action.help and action.help != argparse.SUPPRESS:
            action.help = _escaped(action.help)
        if isinstance(action.default, bool | list):
            action.default = None  # says nothing: the option is off, or not given
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                choice.help = _escaped(choice.help or "")
            for subparser in dict.fromkeys(action.choices.values()):
                with_markup(subparser)
    return parser


def _paragraphs(text: str | None) -> str | None:
    """Indented lines become a literal block, also directly after a line such as `examples:`."""
    if not text:
        return text
    lines: list[str] = []
    in_block = False
    for line in text.rstrip().split("\n"):
        indented = line.startswith(" ")
        if indented and not in_block:
            lines += ["", "::", ""]
        elif in_block and not indented:
            lines.append("")
        in_block = indented
        lines.append(line if indented else _escaped(line))
    return "\n".join(lines)


def _escaped(text: str) -> str:
    text = re.sub(r"([\\*`|])", r"\\\1", text)
    return re.sub(r"_(?=\W|$)", r"\\_", text)
