"""Reads the subset of AmberScript that Spirloom writes, and assembles its modules.

The grammar is that of the documentation of https://github.com/google/amber. Anything else fails.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Pipeline:
    shader: str
    constants: dict[int, int]
    bindings: dict[int, str] = field(default_factory=dict)
    push: str | None = None
    subgroup: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Script:
    features: list[str] = field(default_factory=list)
    shaders: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # format, target, text
    buffers: dict[str, tuple[str, list[str]]] = field(default_factory=dict)  # type, values
    pipelines: dict[str, Pipeline] = field(default_factory=dict)
    runs: list[tuple[str, int, int, int]] = field(default_factory=list)
    expects: list[list[str]] = field(default_factory=list)


def read(path: Path) -> Script:
    """Reads a script, and checks that each name is declared before its use."""
    lines = iter(path.read_text().splitlines())
    assert next(lines) == "#!amber"
    script = Script()
    for line in lines:
        words = line.split()
        if not words or line.startswith("#"):
            continue
        match words:
            case ["DEVICE_FEATURE", name]:
                script.features.append(name)
            case ["SHADER", "compute", name, format, "TARGET_ENV", target]:
                script.shaders[name] = (format, target, "\n".join(_until_end(lines)))
            case ["BUFFER", name, "DATA_TYPE", type, "DATA"]:
                values = [value for row in _until_end(lines) for value in row.split()]
                script.buffers[name] = (type, values)
            case ["BUFFER", name, "DATA_TYPE", type, "SIZE", count, "FILL", value]:
                script.buffers[name] = (type, [value] * int(count))
            case ["PIPELINE", "compute", name]:
                script.pipelines[name] = _pipeline(script, lines)
            case ["RUN", name, x, y, z]:
                assert name in script.pipelines
                script.runs.append((name, int(x), int(y), int(z)))
            case ["EXPECT", a, "EQ_BUFFER", b] | ["EXPECT", a, "RMSE_BUFFER", b, "TOLERANCE", _]:
                (type, values), (other, others) = script.buffers[a], script.buffers[b]
                assert (type, len(values)) == (other, len(others)), "Amber compares equal formats"
                script.expects.append(words[1:])
            case _:
                raise AssertionError(line)
    return script


def _until_end(lines: Iterator[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line == "END":
            return found
        found.append(line)
    raise AssertionError("END is missing.")


def _pipeline(script: Script, lines: Iterator[str]) -> Pipeline:
    attach = next(lines)
    head = re.fullmatch(r"  ATTACH (\w+)((?: SPECIALIZE \d+ AS uint32 \d+)+)", attach)
    assert head is not None, attach
    assert head[1] in script.shaders
    constants = {int(a): int(b) for a, b in re.findall(r"(\d+) AS uint32 (\d+)", head[2])}
    pipeline = Pipeline(head[1], constants)
    for line in lines:
        match line.split():
            case ["END"]:
                return pipeline
            case ["BIND", "BUFFER", name, "AS", "storage", "DESCRIPTOR_SET", "0", "BINDING", at]:
                assert name in script.buffers
                pipeline.bindings[int(at)] = name
            case ["BIND", "BUFFER", name, "AS", "push_constant"]:
                assert name in script.buffers
                pipeline.push = name
            case ["SUBGROUP", name]:
                assert name == pipeline.shader
                pipeline.subgroup = [next(lines).strip() for _ in range(2)]
                assert next(lines).split() == ["END"]
            case _:
                raise AssertionError(line)
    raise AssertionError("END is missing.")


def check_modules(script: Script, directory: Path) -> None:
    """Assembles and validates all modules with SPIRV-Tools."""
    for name, (format, target, text) in script.shaders.items():
        module = directory / f"{name}.spv"
        if format == "SPIRV-HEX":
            module.write_bytes(bytes.fromhex(text))
        else:
            assert format == "SPIRV-ASM"
            command = ["spirv-as", "--target-env", target, "-o", str(module), "-"]
            subprocess.run(command, input=text, text=True, check=True)
        subprocess.run(["spirv-val", "--target-env", "vulkan1.1spv1.4", str(module)], check=True)
