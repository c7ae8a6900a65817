"""spirloom doctor: the environment that runs models, for bug reports."""

from __future__ import annotations

import argparse
import json
from typing import Any


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "doctor",
        help="report the Vulkan environment, for bug reports",
        description="Prints versions, libraries, drivers, devices with missing features, caches "
        "and operators. Exits with 1 if models cannot run, and prints the remedy.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; sizes in bytes")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the report."""
    from spirloom import doctor

    report = doctor.examine()
    print(json.dumps(report, indent=2) if arguments.json else doctor.to_text(report))
    return 1 if report["problems"] else 0
