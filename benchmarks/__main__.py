"""`./dev bench [TOPIC…]`: measures, and writes results and docs/performance.md.

The topic `pages` measures nothing: it writes the pages anew from the results there are.
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

from benchmarks import kernels, language, load, memory, networks, toolchain
from benchmarks.context import ROOT, BenchmarkFailed, Context, run
from benchmarks.gpu import page as gpu_page
from benchmarks.gpu.bench import PARTS
from benchmarks.gpu.bundle import make_bundle
from benchmarks.gpu.networks import NETWORKS
from benchmarks.machine import LOADED, Usage, describe, others_now
from benchmarks.peers import ncnn_model
from benchmarks.performance import files, read_results
from benchmarks.tables import percent
from codegen.closed_pipe import ends_quietly

TOPICS: dict[str, Callable[[Context], dict[str, Any]]] = {
    "networks": networks.measure,
    "kernels": kernels.measure,
    "load": load.measure,
    "memory": memory.measure,
}
# Those that only who names them gets: what they take comes from PyPI.
ASKED: dict[str, Callable[[Context], dict[str, Any]]] = {"language": language.measure}
TOOLCHAIN, GPU, ALL, PAGES = "toolchain", "gpu", "all", "pages"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("topics", nargs="*", default=[ALL], metavar="TOPIC",
                        help=f"{', '.join((TOOLCHAIN, *TOPICS, *ASKED, GPU))} or all (the "
                             f"default): all but {', '.join((*ASKED, GPU))}")  # fmt: skip
    parser.add_argument("--times", type=int, default=3, help="processes per figure (default 3)")
    parser.add_argument("--ncnn", action="store_true", help="time ncnn too; takes it from PyPI")
    parser.add_argument("--ggml", action="store_true",
                        help="with language: time ggml too; builds llama.cpp of PyPI")  # fmt: skip
    parser.add_argument("--loaded", action="store_true", help="measure on a busy machine as well")
    parser.add_argument("--quick", action="store_true", help="everything once: that it runs")
    parser.add_argument(
        "--tuned",
        action="store_true",
        help=f"with {GPU}: time networks also with the kernels that tuning finds",
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--out", type=Path, default=ROOT, metavar="DIR",
                        help="write below DIR instead of the repository")  # fmt: skip
    arguments = parser.parse_args()
    topics = (*TOPICS, *ASKED, TOOLCHAIN, GPU)
    unknown = [t for t in arguments.topics if t not in (*topics, ALL, PAGES)]
    if unknown:
        parser.error(f"unknown topic '{unknown[0]}'; there are: {', '.join(topics)}")
    if arguments.quick and arguments.out == ROOT:
        parser.error("--quick measures nothing to keep; say with --out where it may write")
    return arguments


def refuse_busy_machine() -> None:
    """Ends the program where others use the processors."""
    others = others_now()
    if others > LOADED:
        raise SystemExit(
            f"bench: other work uses {percent(others)} of the processors (at most "
            f"{percent(LOADED)} is taken); end it, or give --loaded: the page then says so"
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
        products=("matmul_512",),
    )


def measure(topic: str, context: Context) -> dict[str, Any]:
    """A topic's results with how they came about."""
    print(f"== {topic}", flush=True)
    start = Usage.now()
    results = (TOPICS | ASKED)[topic](context)
    others = start.others_until(Usage.now(), os.cpu_count() or 1)
    return {"machine": describe(), "times": context.times, "others": round(others, 3)} | results


def measure_gpu(arguments: argparse.Namespace, folder: Path) -> None:
    """Runs, on the device at hand, what `./dev bundle` takes elsewhere."""
    print(f"== {GPU}", flush=True)
    networks = NETWORKS[:1] if arguments.quick else NETWORKS
    make_bundle(arguments.build.resolve(), folder, networks)
    out = folder / "gpu.json"
    parts = [part for part in PARTS if part != "tuned" or arguments.tuned]
    times = ["--times", str(arguments.times)]
    run([sys.executable, folder / "bench.py", "--out", out, *times, "--parts", ",".join(parts)])
    found = json.loads(out.read_text(encoding="utf-8"))
    name = re.sub("[^a-z0-9]+", "-", found["ceilings"]["device"].lower()).strip("-")
    write(arguments.out / "benchmarks" / "results" / f"gpu-{name}.json", out.read_text())


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@ends_quietly
def main() -> int:
    arguments = parse_arguments()
    asked = [topic for topic in ASKED if topic in arguments.topics]
    named = [*TOPICS, *asked] if ALL in arguments.topics else arguments.topics
    if not (arguments.quick or arguments.loaded or named == [PAGES]):
        refuse_busy_machine()
    if TOOLCHAIN in named or (ALL in arguments.topics and not arguments.quick):
        toolchain.measure_toolchain(arguments.times)
    with tempfile.TemporaryDirectory(prefix="spirloom-bench-") as scratch:
        context = make_context(arguments, Path(scratch))
        for topic in (t for t in named if t in TOPICS | ASKED):
            found = json.dumps(measure(topic, context), indent=1)
            write(arguments.out / "benchmarks" / "results" / f"{topic}.json", found + "\n")
        if GPU in named:
            measure_gpu(arguments, Path(scratch) / "bundle")
    folder = arguments.out / "benchmarks" / "results"
    pages = files(read_results(folder)) | gpu_page.files(gpu_page.read_results(folder))
    for path, text in pages.items():
        write(arguments.out / path, text)
        print(f"written: {arguments.out / path}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchmarkFailed as error:
        sys.exit(f"bench: {error}")
