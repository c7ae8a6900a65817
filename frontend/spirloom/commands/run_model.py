"""spirloom run: runs a model of any format, generates text, checks test cases, or records a run."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Models that are imported first. Language models are among them only by their content.
_SUFFIXES = (".onnx", ".pt2", ".pte", ".bpte")


def add_parser(commands: Any) -> None:
    """Adds the subcommand. Its arguments, including --help, are parsed by the uses of run()."""
    parser = commands.add_parser(
        "run",
        help="run a model on .npy or random inputs, generate text with a language model (-p TEXT), "
        "check the test cases of NET.slg or NET.bpte (--check), or record a run "
        "(--record FILE.slreplay)",
        add_help=False,
        prefix_chars="\0",  # no options of this parser
    )
    parser.add_argument("arguments", nargs="*")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Chooses the use by the arguments. Graph files replace the process by spirloom-run."""
    from spirloom import programs
    from spirloom.commands.generate_text import generate, generates_text

    words: list[str] = arguments.arguments
    if not words or "--help" in words or "-h" in words:
        from spirloom.commands.run_help import run_help

        print(run_help(), end="")
        return 0
    if any(word.partition("=")[0] == "--record" for word in words):
        from spirloom.commands.replay import record

        return record(words)
    if generates_text(words) or (len(words) == 1 and _is_language_model(Path(words[0]))):
        generate(words)
        return 0
    model = next((word for word in words if _is_imported(word)), None)
    if model is not None and "--check" in words:
        from spirloom.commands.check_program import check

        return check(words)
    if model is not None:
        return _import_and_run(Path(model), [word for word in words if word is not model])
    programs.become("spirloom-run", words)
    return 0


def _is_language_model(path: Path) -> bool:
    """Whether a path is the graph file of a language model. Without further arguments, its only
    use is a chat: its tensors are tokens."""
    from spirloom.errors import ImportFailure
    from spirloom.family.text_metadata import TEXT_METADATA
    from spirloom.graph_reader import load_methods

    if path.suffix != ".slg" or not path.is_file():
        return False
    try:
        return TEXT_METADATA in load_methods(path)[0].attachments
    except ImportFailure:
        return False


def _is_imported(word: str) -> bool:
    return word.endswith(_SUFFIXES) and not word.startswith("-") and "=" not in word


def _import_and_run(model: Path, words: Sequence[str]) -> int:
    """Imports the model to a temporary file, by the options of `spirloom import` among the
    arguments, and runs it with the other ones.
    """
    from spirloom import graph_file, programs
    from spirloom.commands.import_model import (
        add_import_options,
        checked_options,
        import_graphs,
    )
    from spirloom.errors import ImportFailure
    from spirloom.garbage import rare_collections
    from spirloom.op_library import OpLibrary
    from spirloom.terminal import Progress

    parser = argparse.ArgumentParser(prog="spirloom run", add_help=False, allow_abbrev=False)
    add_import_options(parser)
    arguments, others = parser.parse_known_args(words)
    if not model.exists():
        raise ImportFailure(f"Cannot read {model}: No such file or directory.")
    options = checked_options(arguments)
    with tempfile.TemporaryDirectory(prefix="spirloom-") as scratch:
        path = Path(scratch) / f"{model.stem}.slg"
        with Progress(str(model)) as progress, rare_collections():
            library = OpLibrary.with_dirs(arguments.spec_dir)
            graphs = import_graphs(model, options, library, progress)
            graph_file.save(graphs, path, report=progress)
        kept = shlex.join(["spirloom", "import", str(model), *_without(words, others)])
        print(f"{model} was imported for this run. To keep the graph: {kept}", file=sys.stderr)
        sys.stderr.flush()
        return subprocess.call(programs.command("spirloom-run", [str(path), *others]))


def _without(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """The words that are not among the others, which are some of them in order."""
    found, rest = [], list(others)
    for word in words:
        if rest and word == rest[0]:
            rest.pop(0)
        else:
            found.append(word)
    return found
