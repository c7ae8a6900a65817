"""The page of environment variables: the descriptions here, checked against the sources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tools.docs.page import ROOT, code, table, write_if_changed


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable, by who reads it."""

    name: str
    description: str  # Markdown


RUNTIME = (
    Variable(
        "SPIRLOOM_DEVICE",
        "The Vulkan device: an index or an id of `spirloom-run --list-devices` (`uuid:…`, "
        "`luid:…`, `pci:0000:01:00.0`), or a part of its name. Used if the program selects none. "
        "Default: the first of discrete, integrated, other, CPU.",
    ),
    Variable(
        "SPIRLOOM_DEBUG_LABELS",
        "If set, command buffers contain a label with the name of the graph node around each "
        "dispatch (`VK_EXT_debug_utils`), for debuggers and profilers that the driver does not "
        "list (`vkGetPhysicalDeviceToolProperties()`). For those that it lists, and with "
        "validation, labels are always there.",
    ),
    Variable(
        "SPIRLOOM_DEBUG_PRINTF",
        "If set, validation (`--validation`, `RuntimeOptions::validation`) executes "
        "`debugPrintfEXT()` in shaders of a debug build, and the runtime logs the texts "
        "([debug printf](../how-to/debug-a-wrong-result.md#print-values-in-a-kernel)).",
    ),
    Variable(
        "SPIRLOOM_LIBRARY",
        "Python: path of `libspirloom.so`, instead of the one in the wheel or the build tree.",
    ),
    Variable(
        "SPIRLOOM_SHADERS",
        "Python: path of the shader library (`.slpack`) that belongs to `SPIRLOOM_LIBRARY`.",
    ),
    Variable(
        "SPIRLOOM_EXECUTORCH_LIBRARY",
        "Python: path of `libspirloom_executorch.so`, instead of the one in the wheel or the "
        "build tree.",
    ),
    Variable(
        "SPIRLOOM_STRICT",
        "PyTorch's device `vulkan`: `1` makes a call of an operator without a Vulkan kernel an "
        "error that names the operator and the dtype. Otherwise the call runs on the CPU.",
    ),
    Variable(
        "SPIRLOOM_SHADER_LIBRARIES",
        "ExecuTorch: paths of the shader libraries (`.slpack`) of custom operators, separated by "
        "colons, which the delegates use in addition to the backend's own.",
    ),
    Variable(
        "SPIRLOOM_API_KEY",
        "`spirloom serve`: the key that clients must send; other users of the machine cannot see "
        "it, in contrast to `--api-key`.",
    ),
    Variable(
        "XDG_DATA_DIRS",
        "`spirloom doctor`: where Vulkan drivers and layers are registered. Default: "
        "`/usr/local/share:/usr/share`.",
    ),
    Variable(
        "XDG_CACHE_HOME",
        "Parent of the cache directory `spirloom`, which holds pipelines, tuning results and "
        "measured peaks. Default: `~/.cache`.",
    ),
)

TESTS = (
    Variable(
        "SPIRLOOM_CASE_VALIDATION",
        "`op_tests`: `0` runs the operator cases without the Vulkan validation layers.",
    ),
    Variable(
        "SPIRLOOM_LAYER_FAULTS",
        "The Vulkan layer of `tests/fault_layer`: the faults of shader modules, `DIGEST=KIND,…`.",
    ),
    Variable(
        "SPIRLOOM_LAYER_LOG",
        "The Vulkan layer of `tests/fault_layer`: the file to which it appends the digests of "
        "modules.",
    ),
    Variable(
        "SPIRLOOM_SAMPLE",
        "Tests: `all`, as in `./dev test --all`, runs every test. Otherwise the directories of "
        "which one test in N runs, such as `tests/frontend=8,tests/fusion=8`, which "
        "`./dev test` sets.",
    ),
    Variable(
        "SPIRLOOM_VARIANT_SHARDS",
        "Operator cases: one in so many variants runs, each with all of its cases.",
    ),
    Variable(
        "SPIRLOOM_VARIANT_SHARD",
        "Operator cases: the index of this part of the variants. The default follows from "
        "`SPIRLOOM_SAMPLE_SEED`.",
    ),
    Variable(
        "SPIRLOOM_CASE_PLAN",
        "Operator cases: the file with the variants that a change alters (`tests/plan`).",
    ),
    Variable(
        "SPIRLOOM_SKIP_PACKAGES",
        "`./dev`: if set, it neither looks for missing packages of the distribution nor installs "
        "them. CMake names the libraries that it does not find.",
    ),
    Variable(
        "SPIRLOOM_TEST_BASE",
        "`./dev test`: the revision with which it compares. Default: where the branch left "
        "`origin/main`; on `main`, 24 commits ago.",
    ),
    Variable(
        "SPIRLOOM_SAMPLE_SEED",
        "Tests: an integer that selects the samples and the inputs of random tests "
        "(`tests/sample.py`). `./dev` sets it from the commit; the default is 0.",
    ),
    Variable(
        "SPIRLOOM_REAL_NETWORKS",
        "`tests/torch/test_real_networks.py` and `test_published_networks.py`: names of "
        "networks separated by commas; by default a sample.",
    ),
    Variable(
        "SPIRLOOM_TEST_LIMITS",
        "`tests/limits_layer`: features and limits of the device that programs do not see, e.g. "
        "`storage8,storage16` or `minimum`.",
    ),
    Variable(
        "SPIRLOOM_TEST_MAX_NEW",
        "`tests/tools/failing_new.cpp`: allocations of at least this many bytes fail.",
    ),
    Variable(
        "SPIRLOOM_BUILD",
        "Tests and benchmarks in Python: the build directory. Default: `build/release`.",
    ),
    Variable(
        "SPIRLOOM_SHADERC",
        "`tools.sweep`: path of `spirloom-shaderc`, instead of the one in the build directory.",
    ),
)

_SOURCES = ("runtime", "llm", "tools", "integrations", "frontend", "codegen", "spec_model",
            "compiler", "tests", "benchmarks", "examples")  # fmt: skip
_QUOTED = re.compile(r"[\"']((?:SPIRLOOM|XDG)_[A-Z0-9_]+)[\"']")
_READS = re.compile(r"getenv|environ|VARIABLE")
_EXPANDED = re.compile(r"\$\{(SPIRLOOM_[A-Z0-9_]+)")


def variables_of_sources() -> set[str]:
    """The names that C++ and Python sources and ./dev read from the environment."""
    found = set(_EXPANDED.findall((ROOT / "dev").read_text(encoding="utf-8")))
    for directory in _SOURCES:
        for path in sorted((ROOT / directory).rglob("*")):
            if path.suffix not in {".py", ".cpp", ".h"} or "docs" in path.parts:
                continue
            for line in path.read_text(encoding="utf-8").splitlines():
                if _READS.search(line):
                    found.update(_QUOTED.findall(line))
    return found


def check() -> list[str]:
    """Variables without a description, and descriptions of variables that nothing reads."""
    known = {variable.name for variable in (*RUNTIME, *TESTS)}
    read = variables_of_sources()
    missing = [f"{name} has no description in tools/docs/environment.py." for name in read - known]
    unused = [f"Nothing reads {name} (tools/docs/environment.py)." for name in known - read]
    return sorted([*missing, *unused])


def write_pages(out: Path) -> None:
    """environment-variables.md: two tables. Raises ValueError for what check() reports."""
    if problems := check():
        raise ValueError("\n".join(problems))
    parts = ["## Programs and libraries\n", _table(RUNTIME), "## Tests and tools\n", _table(TESTS)]
    write_if_changed(out / "environment-variables.md", "\n".join(parts))


def _table(variables: tuple[Variable, ...]) -> str:
    rows = ([code(variable.name), variable.description] for variable in variables)
    return table(["Variable", "Meaning"], rows)
