"""The command line: generate, select, check, headers, operators, schema."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from codegen.select.models import ModelImport, no_import
from spec_model.errors import SpecError
from spec_model.output_errors import handle_output_errors


@handle_output_errors
def main(argv: Sequence[str] | None = None, import_model: ModelImport = no_import) -> int:
    """Runs one command. Exit code 1: bad input, 2: bad usage."""
    options = _parser().parse_args(argv)
    options.import_model = import_model
    try:
        run: int = options.run(options)
    except SpecError as error:
        print(error, file=sys.stderr)
        return 1
    return run


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m codegen",
        description="Operator specs and templates to GLSL and a registry of operators.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_generate(
        commands.add_parser("generate", help="write GLSL, manifest.json and registry.bin")
    )
    _add_select(commands.add_parser("select", help="select the ops and variants of a library"))
    check = commands.add_parser("check", help="parse, type-check and render without writing files")
    _add_inputs(check)
    check.set_defaults(run=_check)
    headers = commands.add_parser(
        "headers", help="check the interface in the templates' opening comments, or write it"
    )
    _add_inputs(headers)
    headers.add_argument("--write", action="store_true", help="write it to all templates")
    headers.set_defaults(run=_headers)
    operators = commands.add_parser("operators", help="write the page of operators")
    _add_inputs(operators)
    operators.add_argument("--out", type=Path, required=True, metavar="FILE")
    operators.set_defaults(run=_operators)
    schema = commands.add_parser("schema", help="write the JSON Schema of specs, for editors")
    schema.add_argument("--out", type=Path, required=True, metavar="FILE")
    schema.set_defaults(run=_schema)
    return parser


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--spec-dir", type=Path, action="append", required=True, metavar="DIR", help="repeatable"
    )
    parser.add_argument(
        "--template-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="repeatable; later directories take precedence",
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(__file__).resolve().parent.parent,
        metavar="DIR",
        help="project root; messages and products name files relative to it",
    )


def _add_generate(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument(
        "--library", default="spirloom::shaders_all", help="name of the library in messages"
    )
    parser.add_argument(
        "--override",
        action="store_true",
        help="the ops replace ops of the same name in other libraries",
    )
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="state file: after edits of templates, render only the affected shaders",
    )
    parser.add_argument(
        "--depfile", type=Path, metavar="FILE", help="write all input files as a depfile"
    )
    parser.add_argument(
        "--selection",
        type=Path,
        metavar="FILE",
        help="generate only the variants in this output of `select`",
    )
    parser.add_argument(
        "--test-kernels",
        action="store_true",
        help="generate only ops with `test_only` kernels, including these",
    )
    parser.set_defaults(run=_generate)


def _add_select(parser: argparse.ArgumentParser) -> None:
    _add_inputs(parser)
    for option, metavar, kind in (
        ("--ops", "NAME", str),
        ("--ops-yaml", "FILE", Path),
        ("--models", "FILE", Path),
        ("--dtypes", "DTYPE", str),
        ("--storages", "STORAGE", str),
    ):
        parser.add_argument(option, nargs="*", default=[], type=kind, metavar=metavar)
    parser.add_argument("--prefix", default="", help="prefix of selectors in messages")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the selection for generate")
    parser.add_argument(
        "--depfile",
        type=Path,
        metavar="FILE",
        help="write all input files as a depfile",
    )
    parser.set_defaults(run=_select)


def _generate(options: argparse.Namespace) -> int:
    from codegen.generate import generate
    from codegen.output import Request

    generate(
        Request(
            tuple(options.spec_dir),
            tuple(options.template_dir),
            options.out,
            options.library,
            options.override,
            options.depfile,
            options.root,
            options.selection,
            options.state,
            options.test_kernels,
        )
    )
    return 0


def _select(options: argparse.Namespace) -> int:
    from codegen.output import Output
    from codegen.select.select import Selectors, select, summary, yaml_text
    from codegen.select.selection import inputs_of, selection_text
    from spec_model.files import write_depfile
    from spec_model.library import without_test_kernels
    from spec_model.load.loader import load_library

    selectors = Selectors(
        tuple(options.ops),
        tuple(options.ops_yaml),
        tuple(options.models),
        tuple(options.dtypes),
        tuple(options.storages),
        options.prefix,
    )
    full = load_library(options.spec_dir, options.template_dir, options.root)
    library = without_test_kernels(full)
    selection = select(library, selectors, options.import_model)
    if options.out is None:
        print(yaml_text(library, selection), end="")
        return 0
    Output(options.out.parent).write(options.out.name, selection_text(selection))
    if options.depfile is not None:
        write_depfile(options.depfile, options.out, inputs_of(library, selectors.inputs))
    print(summary(library, selection))
    return 0


def _check(options: argparse.Namespace) -> int:
    from codegen.generate import render_all
    from codegen.interface_comments import check_interfaces
    from spec_model.load.loader import load_library

    library = load_library(options.spec_dir, options.template_dir, options.root)
    check_interfaces(library)
    render_all(library)
    return 0


def _headers(options: argparse.Namespace) -> int:
    from codegen.interface_comments import check_interfaces, write_interfaces
    from spec_model.load.loader import load_library

    library = load_library(options.spec_dir, options.template_dir, options.root)
    if options.write:
        print(*write_interfaces(library), sep="\n")
    else:
        check_interfaces(library)
    return 0


def _operators(options: argparse.Namespace) -> int:
    from codegen.output import Output
    from codegen.pages import op_table_text
    from spec_model.library import without_test_kernels
    from spec_model.load.loader import load_library

    library = load_library(options.spec_dir, options.template_dir, options.root)
    text = op_table_text(without_test_kernels(library))
    Output(options.out.parent).write(options.out.name, text)
    return 0


def _schema(options: argparse.Namespace) -> int:
    from codegen.output import Output
    from spec_model.json_schema import schema_text

    Output(options.out.parent).write(options.out.name, schema_text())
    return 0
