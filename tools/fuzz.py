"""What `./dev fuzz` runs: one fuzz target for some minutes, from the corpus that is kept.

Without a target it lists them. What a run finds new is kept in build/fuzz/TARGET/corpus and goes on
from there the next time; inputs that break something come to build/fuzz/TARGET/findings.
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from codegen.closed_pipe import ends_quietly

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "fuzz"
WORK = ROOT / "build" / "fuzz"


@dataclass(frozen=True, slots=True)
class Target:
    what: str
    max_bytes: int = 4096  # of an input; small ones are tried faster


# Of each the source is tests/fuzz/fuzz_NAME.cpp.
NATIVE = {
    "cache_file": Target("files of the cache folder: pipelines, tuned kernels", 512),
    "executorch": Target("delegates of ExecuTorch's programs (.pte)"),
    "graph_loader": Target("graph files (.slg), byte by byte"),
    "graph_plan": Target("whole loads of graphs for any device, short of Vulkan", 2816),
    "manifest": Target("the shader compiler's manifest.json"),
    "npy": Target("arrays for spirloom-run (.npy)", 1024),
    "op_cases": Target("case packs of the operators' tests (.slcases)", 1024),
    "registry": Target("what a shader library says of its operators"),
    "shader_library": Target("shader libraries (.slpack), and calls of their operators", 24576),
    "spirv_words": Target("modules as the runtime rewrites them"),
    "tokenizer": Target("tokenizers of language models (tokenizer.json), and what they encode"),
}

# Of each a module of tests/fuzz, which takes --minutes and --findings.
PYTHON = {
    "gguf_import": Target("language models in GGUF, imported"),
    "onnx_import": Target("ONNX models, imported"),
    "pte_import": Target("programs of ExecuTorch (.pte, .bpte), imported"),
    "torch_import": Target("exported programs of PyTorch (.pt2), imported"),
    "op_specs": Target("operator specs and templates, generated"),
}


TARGETS = NATIVE | PYTHON


def build(preset: str, *what: str) -> bool:
    return subprocess.run(["./dev", "build", preset, *what], cwd=ROOT, check=False).returncode == 0


def folders(name: str) -> list[Path]:
    """Where new inputs go, then the corpora to start from."""
    own = WORK / name / "corpus"
    own.mkdir(parents=True, exist_ok=True)
    made = ROOT / "build" / "clang" / "tests" / "fuzz" / "corpus" / name
    return [own, *(folder for folder in (SOURCES / "corpus" / name, made) if folder.is_dir())]


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
        print(f"{name}: repeat it with\n  build/clang/bin/fuzz_{name} {finding.relative_to(ROOT)}")


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
            [program, *options, *folders(name)], stdout=output, stderr=output, check=False
        )
    report(name, log, findings, ran.returncode != 0)
    return ran.returncode == 0


def run_python(name: str, minutes: float) -> bool:
    findings = WORK / name / "findings"
    python = ROOT / ".venv" / "bin" / "python"
    command = [str(python), "-m", f"tests.fuzz.{name}", "--minutes", str(minutes)]
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


@ends_quietly
def main() -> int:
    lines = [f"  {name:15} {target.what}" for name, target in TARGETS.items()]
    parser = argparse.ArgumentParser(
        prog="./dev fuzz",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__,
        epilog="\n".join(["targets:", *lines]),
    )
    parser.add_argument("target", nargs="?", help="one of those below, or all")
    parser.add_argument("minutes", nargs="?", type=float, default=10.0, help="of each; 10")
    arguments = parser.parse_args()
    if arguments.target is None:
        print("\n".join(lines))
        return 0
    if arguments.target != "all" and arguments.target not in TARGETS:
        parser.error(f"unknown target '{arguments.target}'; there are: all, {', '.join(TARGETS)}")
    names = list(TARGETS) if arguments.target == "all" else [arguments.target]
    return 0 if run(names, arguments.minutes) else 1


if __name__ == "__main__":
    sys.exit(main())
