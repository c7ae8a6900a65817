"""spirloom new-op: scaffolds a new operator."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spirloom.new_op.scaffold import Scaffold
    from spirloom.new_op.target import Target

DESCRIPTION = """\
Creates the files of a new operator from those of a similar one. They build immediately and pass
their tests, since they compute what the similar one does, until the TODOs are done.

A template with params is shared. With --own-template, or if it cannot be shared, the new operator
has its own copy with notes for its author.

In the repository, files are written to op_specs/ and templates/glsl/; in other projects to
op_specs/ and templates/, or as specified.
"""
EPILOG = """\
examples:
  spirloom new-op squared_relu --like relu                    one more function of one tensor
  spirloom new-op custom.entropy --like logsumexp --own-template
  spirloom new-op custom.snake --like celu --spec-dir ops --template-dir kernels
  spirloom new-op custom.snake --like relu --arg 'slope: float = 0.5' --arg 'steps: int = 2'

The page 'Add an operator' of the documentation is a complete example.
"""
INSIDE = """\
Then:
  cmake --build --preset release --target op_tests
  build/release/bin/op_tests --gtest_filter='Op.{stem}_*'
  ./dev update                 after it passes: updates docs/ and generated/
"""
OUTSIDE = """\
Then build and run the test program of spirloom_add_op_tests() with --gtest_filter='Op.{stem}_*'
(CMakeLists.txt: page 'Add an operator' of the documentation).
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "new-op",
        help="scaffold a new operator",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="the new operator, e.g. snake or custom.snake")
    parser.add_argument(
        "--like", required=True, metavar="OP", help="the operator to copy: relu, aten.relu"
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="'NAME: TYPE = DEFAULT'",
        help="an additional argument, or another default of one; may be repeated",
    )
    parser.add_argument("--spec-dir", type=Path, metavar="DIR", help="the directory for the spec")
    parser.add_argument(
        "--template-dir", type=Path, metavar="DIR", help="the directory for the template"
    )
    parser.add_argument(
        "--own-template", action="store_true", help="copy the template even if it can be shared"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the files and prints the next steps."""
    from spirloom.new_op.scaffold import scaffold, write
    from spirloom.new_op.target import find_target

    target = find_target(
        arguments.name,
        arguments.like,
        arguments.spec_dir,
        arguments.template_dir,
        Path.cwd(),
        arguments.arg,
    )
    result = scaffold(target, arguments.own_template)
    write(result.files)
    print(_report(target, result), end="")
    return 0


def _report(target: Target, result: Scaffold) -> str:
    lines = [f"{target.op}, from {target.like.name}:"]
    lines += [
        f"  {target.shown(path)}: {text.count('TODO')} TODO" for path, text in result.files.items()
    ]
    if result.shares_template:
        template = target.like_template.name
        lines.append(f"It shares the template {template}. Set its params in the spec.")
    return "\n".join(lines) + "\n" + (INSIDE if target.inside else OUTSIDE).format(stem=target.stem)
