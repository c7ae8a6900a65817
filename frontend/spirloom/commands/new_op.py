"""spirloom new-op: scaffolds a new operator."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spirloom.new_op.scaffold import Scaffold
    from spirloom.new_op.target import Target

DESCRIPTION = """\
Makes the files of a new operator from those of one that is like it. They build at once; the test
cases made from them fail until every TODO in them has been seen to, the reference first of all.

A template that takes params is shared; with --own-template, or when there is nothing to share, the
new operator gets a copy of its own with notes for its author.

Inside the repository the files go to op_specs/ and templates/glsl/; in a project of your own to
its op_specs/ and templates/, or where you say.
"""
EPILOG = """\
examples:
  spirloom new-op squared_relu --like relu                    one more function of one tensor
  spirloom new-op custom.entropy --like logsumexp --own-template
  spirloom new-op custom.snake --like celu --spec-dir ops --template-dir kernels
  spirloom new-op custom.snake --like relu --arg 'slope: float = 0.5' --arg 'steps: int = 2'

docs/tutorials/first-operator.md walks through the whole.
"""
INSIDE = """\
Then:
  cmake --build --preset release --target op_tests
  build/release/bin/op_tests --gtest_filter='Op.{stem}_*'
  ./dev update                 when it passes: the operator's rows in docs/ and generated/
"""
OUTSIDE = """\
Then build and run the program that spirloom_add_op_tests() makes of your library
(docs/tutorials/first-operator.md has the CMakeLists.txt), with --gtest_filter='Op.{stem}_*'.
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
        "--like", required=True, metavar="OP", help="the operator to start from: relu, aten.relu"
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="'NAME: TYPE = DEFAULT'",
        help="an argument that OP lacks, or with another default; may be repeated",
    )
    parser.add_argument("--spec-dir", type=Path, metavar="DIR", help="where the spec goes")
    parser.add_argument("--template-dir", type=Path, metavar="DIR", help="where a template goes")
    parser.add_argument(
        "--own-template", action="store_true", help="copy the template even if it can be shared"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Writes the files and says what is left to do."""
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
    made = scaffold(target, arguments.own_template)
    write(made.files)
    print(_report(target, made), end="")
    return 0


def _report(target: Target, made: Scaffold) -> str:
    lines = [f"{target.op}, like {target.like.name}:"]
    lines += [
        f"  {target.shown(path)}: {text.count('TODO')} TODO" for path, text in made.files.items()
    ]
    if made.shares_template:
        template = target.like_template.name
        lines.append(f"It shares the template {template}, which its params fill in.")
    return "\n".join(lines) + "\n" + (INSIDE if target.inside else OUTSIDE).format(stem=target.stem)
