"""Amber scripts: a run of a graph file for driver engineers, without this project.

Amber (https://github.com/google/amber) runs SPIR-V modules with buffers and compares the results.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from spirloom.debug.device_values import DeviceOptions
from spirloom.errors import ImportFailure
from spirloom.programs import command

_SECONDS = 600
_MODULE = re.compile(r"SPIRV-HEX (TARGET_ENV \S+\n)([0-9a-f\s]*)\nEND\n")


def write_script(case: Path, options: DeviceOptions, path: Path) -> None:
    """Writes the dispatches of a graph file with a test case, its inputs and expected outputs.

    The modules are assembly text if spirv-dis (package spirv-tools) is installed, else bytes.
    Raises ImportFailure with the message of spirloom-run, e.g. for tensors in images.
    """
    arguments = [str(case), "--check", "--amber", str(path), "--storage", options.storage]
    if options.device is not None:
        arguments += ["--device", options.device]
    for library in options.overrides:
        arguments += ["--override", str(library)]
    for kernel in options.kernels:
        arguments += ["--kernel", kernel]
    done = subprocess.run(
        command("spirloom-run", arguments), capture_output=True, encoding="utf-8", check=False,
        timeout=_SECONDS,
    )  # fmt: skip
    if done.returncode != 0:
        raise ImportFailure(done.stderr.strip().removeprefix("spirloom-run: "))
    script = with_assembly(path.read_text(encoding="utf-8"))
    path.write_text(script, encoding="utf-8", newline="\n")


def with_assembly(script: str) -> str:
    """The script with each module as SPIR-V assembly, if spirv-dis is installed."""
    if shutil.which("spirv-dis") is None:
        return script
    return _MODULE.sub(_assembly, script)


def _assembly(module: re.Match[str]) -> str:
    environment, digits = module.groups()
    done = subprocess.run(
        ["spirv-dis", "--no-color", "--no-indent", "-"],
        input=bytes.fromhex(digits),
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
    return f"SPIRV-ASM {environment}{done.stdout.decode()}END\n"
