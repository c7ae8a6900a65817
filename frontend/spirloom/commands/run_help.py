"""The help of `spirloom run`, which has the options of several parsers and of spirloom-run."""

from __future__ import annotations

import argparse
import re
import subprocess
import textwrap

USAGE = """\
usage: spirloom run NET.slg [OPTIONS]                     run a graph on .npy or random inputs
       spirloom run NET.onnx|NET.pt2|NET.pte [OPTIONS]    import a model for one run
       spirloom run LLM.slg -p TEXT [OPTIONS]             continue a text with a language model
       spirloom run LLM.gguf|DIRECTORY [-p TEXT]          the same, or chat, importing it once
       spirloom run NET.slg|NET.bpte --check              run the test cases in the file
       spirloom run MODEL --record FILE.slreplay          record a run in one file

examples:
  spirloom run mobilenet.slg --input x=image.npy --output-dir out
  spirloom run mobilenet.onnx --dim batch=1 --random --repeat 20 --profile
  spirloom run llama.slg -p "The capital of France is" --tokens 20
  spirloom run net.onnx --random --record run.slreplay
"""


def run_help() -> str:
    """The text, with the options of spirloom-run and spirloom-llm if they are found."""
    from spirloom.commands import check_program, generate_text, replay

    graph = "Running a graph; for other models, also the options of `spirloom import`"
    parts = {
        graph: _program_options("spirloom-run"),
        "Text generation": _program_options("spirloom-llm") + _options(generate_text.parser()),
        "Test cases of NET.bpte (--check)": _options(check_program.parser()),
        "Recording (--record)": _options(replay.record_parser()),
    }
    return "\n".join([USAGE, *(f"{title}:\n{text}" for title, text in parts.items())])


def _options(parser: argparse.ArgumentParser) -> str:
    """Arguments and options, without usage, description, examples and the options of import."""
    parser.usage, parser.description, parser.epilog = argparse.SUPPRESS, None, None
    sections = parser.format_help().strip("\n").split("\n\n")
    lines = [
        line
        for section in sections
        if not section.startswith("import ")
        for line in section.splitlines()
        if not line.startswith(("  -h, --help", "options:", "positional arguments:"))
    ]
    return "\n".join(lines) + "\n"


def _program_options(name: str) -> str:
    """The options that the --help of a C++ program lists, or why there are none."""
    from spirloom.errors import ImportFailure
    from spirloom.programs import find_program

    try:
        words = [str(find_program(name)), "--help"]
        done = subprocess.run(words, capture_output=True, encoding="utf-8", check=True)
    except (ImportFailure, OSError, subprocess.CalledProcessError) as error:
        return f"  {error}\n"
    found = re.search(r"^(?:Options|OPTIONS):\n(.*?)\n\n", done.stdout, re.MULTILINE | re.DOTALL)
    if found is None:  # a layout of another release of CLI11
        return done.stdout
    lines = [line for line in found[1].splitlines() if not line.startswith("  -h,")]
    return "".join(map(_wrapped, lines))


def _wrapped(line: str) -> str:
    """An option as CLI11 lists it, in at most 100 columns."""
    indent = " " * 30
    found = re.match(r"(  -\S.*?)(?: {2,}|$)(.*)", line)
    names, text = found.groups() if found else ("", line.strip())
    first = names.ljust(30) if len(names) < 30 else f"{names}\n{indent}"
    if not text:
        return textwrap.fill(names, 100, subsequent_indent=indent) + "\n"
    return textwrap.fill(text, 100, initial_indent=first, subsequent_indent=indent) + "\n"
