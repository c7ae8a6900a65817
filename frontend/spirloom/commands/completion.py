"""spirloom completion: the code that makes a shell complete the commands and options."""

from __future__ import annotations

import argparse
from typing import Any

EPILOG = """\
examples:
  eval "$(spirloom completion bash)"                         in ~/.bashrc
  eval "$(spirloom completion zsh)"                          in ~/.zshrc, after compinit
  spirloom completion fish | source                          in ~/.config/fish/config.fish
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "completion",
        help="print the code that completes commands and options in bash, zsh or fish",
        description="Prints the code that makes a shell complete commands, options and files.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the code."""
    import argcomplete

    # zsh has bash's, through bashcompinit.
    shell = "bash" if arguments.shell == "zsh" else arguments.shell
    code = argcomplete.shellcode(["spirloom"], shell=shell)
    if arguments.shell == "zsh":
        code = f"autoload -U +X bashcompinit && bashcompinit\n{code}"
    print(code)
    return 0
