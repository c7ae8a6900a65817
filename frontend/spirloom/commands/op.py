"""spirloom op: examines an operator's kernels."""

from __future__ import annotations

from typing import Any

from spirloom.commands import op_explain, op_show


def add_parser(commands: Any) -> None:
    """Adds the group and its subcommands."""
    parser = commands.add_parser(
        "op", help="examine an operator's kernels", description="Examines an operator's kernels."
    )
    subcommands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (op_explain, op_show):
        module.add_parser(subcommands)
