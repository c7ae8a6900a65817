"""Gathers what an issue needs in one archive. Every part is a command of its own process, so that a
driver that crashes in one of them does not prevent the others.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spirloom import child_python
from spirloom.programs import command

_SECONDS = 600  # per part


@dataclass(frozen=True, slots=True)
class Part:
    """A member of the archive: the output of a command, or a file that it writes."""

    name: str
    content: str  # what the member contains, for the list of contents
    command: Sequence[str]
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """A finished part. `data` None: the command did not write its file."""

    part: Part
    data: bytes | None
    status: str  # "" if the command succeeded


def parts_of(
    model: Path | None, inputs: Sequence[str], device: Sequence[str], weights: bool, out: Path
) -> list[Part]:
    """The parts of a report. `inputs` and `device` are options of the commands; `out` is the
    directory for the files that they write.
    """
    spirloom = child_python.command("-m", "spirloom.cli")
    parts = [
        Part("doctor.json", "versions, loader, drivers, devices, variables of the environment",
             (*spirloom, "doctor", "--json")),
    ]  # fmt: skip
    if model is None:
        stored = Part("verify.json", "stored verdicts of spirloom verify about kernels",
                      (*spirloom, "verify", "--stored", "--json", *device))  # fmt: skip
        return [*parts, stored]
    name, given = str(model), [*inputs, *device]
    replay = out / "run.slreplay"
    stripped = () if weights else ("--strip-weights",)
    how = "the weights" if weights else "synthetic weights instead of the model's"
    return [
        *parts,
        Part("model.txt", "nodes of the graph, types, names and source lines, without values",
             (*spirloom, "inspect", name, "--nodes")),
        Part("plan.txt", "dispatches, kernels and memory",
             command("spirloom-run", [name, "--random", "--plan", *device])),
        Part("profile.txt", "GPU time of each dispatch",
             command("spirloom-run", [name, "--random", "--warmup", "1", "--repeat", "3",
                                      "--profile", *device])),
        Part("validation.txt", "messages of the Vulkan validation layers, if installed",
             command("spirloom-run", [name, "--random", "--validation", *device])),
        Part("compare.txt", "each node compared with the reference of its operator",
             (*spirloom, "compare", name, "--with", "reference", "--layers", *given)),
        Part("verify.json", "verdicts about the kernels of the model on the device",
             (*spirloom, "verify", name, "--json", "--verdicts", str(out / "verdicts.txt"),
              *given)),
        Part("run.slreplay", f"a recorded run: graph, inputs, results, {how}",
             (*spirloom, "run", name, "--record", str(replay), *stripped, *given), writes=True),
    ]  # fmt: skip


def run_part(part: Part, out: Path) -> Result:
    """Runs the command. Its output includes error messages."""
    try:
        done = subprocess.run(
            list(part.command),
            env=child_python.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return Result(part, error.stdout, f"no result after {_SECONDS} s")
    except OSError as error:
        return Result(part, None, f"did not start: {error.strerror}")
    status = "" if done.returncode == 0 else f"exit code {done.returncode}"
    if not part.writes:
        return Result(part, done.stdout, status)
    file = out / part.name
    if file.exists():
        return Result(part, file.read_bytes(), status)
    return Result(part, None, f"{status}: {_last_line(done.stdout)}")


def _last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no message"


_NOTE = (
    "Read it before you attach it to an issue: it contains names of files, nodes and tensors, and",
    "values of environment variables that concern Vulkan.",
)


def contents(results: Sequence[Result], title: str) -> str:
    """The list of contents, the first member of the archive."""
    lines = [title, "", *_NOTE, ""]
    for result in results:
        status = f" ({result.status})" if result.status else ""
        missing = "" if result.data is not None else "missing: "
        lines.append(f"{missing}{result.part.name}: {result.part.content}{status}")
        lines.append(f"    $ {' '.join(map(_shown, result.part.command))}")
    return "\n".join(lines) + "\n"


def _shown(argument: str) -> str:
    return Path(argument).name if Path(argument).is_absolute() else argument
