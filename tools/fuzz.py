"""Runs a fuzz target for some minutes, starting from its stored corpus.

Without a target, lists the targets. New inputs are stored in build/fuzz/TARGET/corpus and reused by
the next run; failing inputs are stored in build/fuzz/TARGET/findings.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from spec_model.output_errors import handle_output_errors

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "fuzz"
WORK = ROOT / "build" / "fuzz"


@dataclass(frozen=True, slots=True)
class Target:
    description: str
    max_bytes: int = 4096  # size of an input; small inputs run faster
    oracle: bool = False  # of tests/oracles, in the environment of `./dev test-torch`


# The source of each target is tests/fuzz/fuzz_NAME.cpp.
NATIVE = {
    "cache_file": Target("files of the cache directory: pipelines, tuned kernels", 512),
    "executorch": Target("delegates in ExecuTorch programs (.pte)"),
    "graph_loader": Target("graph files (.slg), byte mutations"),
    "graph_plan": Target("planning of graphs for arbitrary devices, without Vulkan", 2816),
    "manifest": Target("manifest.json of the shader compiler"),
    "npy": Target("input arrays of spirloom-run (.npy)", 1024),
    "op_cases": Target("operator test cases (.slcases)", 1024),
    "registry": Target("operator registries of shader libraries"),
    "shader_library": Target("shader libraries (.slpack) and calls of their operators", 24576),
    "spirv_words": Target("SPIR-V rewriting of the runtime"),
    "tokenizer": Target("tokenizers (tokenizer.json) and encoding"),
}

# Modules of tests/fuzz, or tests/oracles, with the options --minutes and --findings.
PYTHON = {
    "gguf_import": Target("import of GGUF language models"),
    "onnx_import": Target("import of ONNX models"),
    "pte_import": Target("import of ExecuTorch programs (.pte, .bpte)"),
    "torch_import": Target("import of PyTorch exported programs (.pt2)"),
    "op_specs": Target("code generation from operator specs and templates"),
    "attention": Target("spellings of attention compared with PyTorch", oracle=True),
    "dynamic_sizes": Target("ONNX models at every size of a range", oracle=True),
    "onnx_nodes": Target("ONNX nodes compared with ONNX Runtime", oracle=True),
    "torch_sizes": Target("PyTorch functions at every size of two ranges", oracle=True),
    "torch_calls": Target("calls of ATen operators compared with PyTorch", oracle=True),
    "passes": Target("graphs compared with the same graphs without optimization", oracle=True),
}


TARGETS = NATIVE | PYTHON


def build(preset: str, *targets: str) -> bool:
    command = ["./dev", "build", preset, *targets]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def corpora(name: str) -> list[Path]:
    """The directory of new inputs, then the initial corpora."""
    own = WORK / name / "corpus"
    own.mkdir(parents=True, exist_ok=True)
    generated = ROOT / "build" / "clang" / "tests" / "fuzz" / "corpus" / name
    return [own, *(path for path in (SOURCES / "corpus" / name, generated) if path.is_dir())]


def report(name: str, log: Path, findings: Path, failed: bool) -> None:
    text = log.read_text(errors="replace")
    count = re.search(r"number_of_executed_units: (\d+)", text)
    print(f"{name}: {int(count[1]) if count else 0:,} executions", flush=True)
    for line in re.findall(r"^.*: \d+ of \d+$", text, re.MULTILINE):
        print(f"  {line}")
    if not failed:
        return
    print("\n".join(text.splitlines()[-60:]))
    for finding in sorted(findings.iterdir()):
        print(f"{name}: reproduce with\n  build/clang/bin/fuzz_{name} {finding.relative_to(ROOT)}")


def run_native(name: str, minutes: float) -> bool:
    findings = WORK / name / "findings"
    findings.mkdir(parents=True, exist_ok=True)
    log = WORK / name / "log.txt"
    options = [
        f"-max_total_time={round(60 * minutes)}",
        f"-max_len={NATIVE[name].max_bytes}",
        f"-artifact_prefix={findings}/",
        "-timeout=20",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
    ]
    program = ROOT / "build" / "clang" / "bin" / f"fuzz_{name}"
    with log.open("wb") as output:
        ran = subprocess.run(
            [program, *options, *corpora(name)], stdout=output, stderr=output, check=False
        )
    report(name, log, findings, ran.returncode != 0)
    return ran.returncode == 0


def run_python(name: str, minutes: float) -> bool:
    findings = WORK / name / "findings"
    oracle = TARGETS[name].oracle
    python = ROOT / (".venv-torch" if oracle else ".venv") / "bin" / "python"
    if not python.exists():
        print(f"{name}: {python} does not exist; ./dev test-torch makes it.")
        return False
    module = f"tests.{'oracles' if oracle else 'fuzz'}.{name}"
    command = [str(python), "-m", module, "--minutes", str(minutes)]
    command += ["--findings", str(findings)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def run(names: list[str], minutes: float) -> bool:
    native = [name for name in names if name in NATIVE]
    python = [name for name in names if name in PYTHON]
    if native and not build("clang", *(f"fuzz_{name}" for name in native)):
        return False
    if python and not build("release", "spirloom_venv"):
        return False
    passed = [run_native(name, minutes) for name in native]
    return all(passed + [run_python(name, minutes) for name in python])


@handle_output_errors
def main() -> int:
    lines = [f"  {name:15} {target.description}" for name, target in TARGETS.items()]
    parser = argparse.ArgumentParser(
        prog="./dev fuzz",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
        epilog="\n".join(["targets:", *lines]),
    )
    parser.add_argument("target", nargs="?", help="a target of the list below, or all")
    parser.add_argument(
        "minutes", nargs="?", type=float, default=10.0, help="minutes per target (default 10)"
    )
    arguments = parser.parse_args()
    if arguments.target is None:
        print("\n".join(lines))
        return 0
    if arguments.target != "all" and arguments.target not in TARGETS:
        parser.error(
            f"unknown target '{arguments.target}'; expected one of: all, {', '.join(TARGETS)}"
        )
    names = list(TARGETS) if arguments.target == "all" else [arguments.target]
    return 0 if run(names, arguments.minutes) else 1


if __name__ == "__main__":
    sys.exit(main())
