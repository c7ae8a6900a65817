"""The command `spirloom`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from spec_model.output_errors import handle_output_errors
from spirloom import __version__
from spirloom.errors import SpirloomError
from spirloom.installation import how_to_install

# Each module has add_parser(subparsers), which sets the default `run`: arguments → exit code.
COMMANDS = (
    "spirloom.commands.import_model",
    "spirloom.commands.inspect_graph",
    "spirloom.commands.extract_delegates",
    "spirloom.commands.partition_model",
    "spirloom.commands.list_ops",
    "spirloom.commands.make_cases",
    "spirloom.commands.new_op",
    "spirloom.commands.op",
    "spirloom.commands.run_model",
    "spirloom.commands.serve",
    "spirloom.commands.compare_graphs",
    "spirloom.commands.bisect",
    "spirloom.commands.verify",
    "spirloom.commands.replay",
    "spirloom.commands.profile",
    "spirloom.commands.report",
    "spirloom.commands.doctor",
    "spirloom.commands.bug_report",
    "spirloom.commands.completion",
)

# Modules that only some commands require: those that are required together.
OPTIONAL = (
    ("onnx",),
    ("torch",),
    ("jinja2", "yaml"),
    ("starlette", "uvicorn", "tokenizers"),
    ("argcomplete",),
)

EXAMPLES = """\
examples:
  spirloom import mobilenet.onnx                              import a network: mobilenet.slg
  spirloom import mobilenet.onnx -o half.slg --fp16           the same, computing in float16
  spirloom import detector.onnx -o detector.slg --dim batch=3 set an open dimension
  spirloom inspect mobilenet.slg                              describe a graph file
  spirloom partition detector.onnx --dim batch=3              which nodes run on the device
  spirloom run mobilenet.slg --input x=x.npy                  run it
  spirloom run mobilenet.onnx --random --profile              import it for one run
  spirloom run llama.slg -p "Once upon a time"                continue a text
  spirloom serve llama.slg                                    serve the OpenAI API over HTTP
  spirloom compare mobilenet.slg half.slg --random            compare the outputs of two graphs
  spirloom compare net.onnx --with onnxruntime --random --layers  find the first wrong node
  spirloom run mobilenet.slg --random --record run.slreplay   record a run in one file
  spirloom bisect net.onnx --random                           find the wrong pass or kernel
  spirloom verify net.onnx                                    find kernels that this driver breaks
  spirloom profile show net.slprof                            where the time goes, and why
  spirloom report net.slg --profile net.slprof -o net.html    the same and more as a web page
  spirloom op show relu_f32_buffer                            print the GLSL of a kernel
  spirloom doctor                                             report the Vulkan environment
  spirloom bug-report mobilenet.slg --random                  gather what an issue needs
  spirloom COMMAND --help                                     help of one command
"""


@handle_output_errors
def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns the exit code: 0, 1 for invalid input, 2 for invalid usage."""
    words = sys.argv[1:] if argv is None else argv
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # the shell asks for completions
        import argcomplete

        argcomplete.autocomplete(parser)
    if not words:
        parser.print_help()
        return 0
    arguments = parser.parse_args(words)
    try:
        code: int = arguments.run(arguments)
    except SpirloomError as error:
        print(f"spirloom: error: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        together = next((each for each in OPTIONAL if error.name in each), None)
        if together is None:
            raise
        print(
            f"spirloom: error: This requires the Python module '{error.name}', which "
            f"{sys.executable} does not have. {how_to_install(*together)}",
            file=sys.stderr,
        )
        return 1
    return code


class _Parser(argparse.ArgumentParser):
    """Suggests the nearest command for an unknown one."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        commands = self.get_default("commands")
        if commands and args and not args[0].startswith("-") and args[0] not in commands:
            near = get_close_matches(args[0], commands, n=1)
            hint = f"Did you mean '{near[0]}'?" if near else f"Commands: {', '.join(commands)}."
            self.error(f"There is no command '{args[0]}'. {hint}")
        return super().parse_known_args(args, namespace)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="spirloom",
        description="Imports, inspects and runs neural networks.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"spirloom {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=argparse.ArgumentParser
    )
    for name in COMMANDS:
        importlib.import_module(name).add_parser(commands)
    parser.set_defaults(commands=tuple(commands.choices))
    return parser


if __name__ == "__main__":
    sys.exit(main())
