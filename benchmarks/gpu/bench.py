"""Times the contents of this directory on a GPU, next to PyTorch and llama.cpp; writes JSON.

    python3 bench.py --out gpu.json [--device NAME] [--times 1] [--minutes 8] [--parts calls,torch]

The file is written after each step, and an existing file of the same bundle is continued: a run
that is killed, or stops after --minutes, loses at most one step.

    peaks      device peaks: bandwidth, arithmetic throughput, dispatch latency
    calls      each call of calls.json
    networks   latency by the host's clock and by the GPU's
    torch      calls and networks in PyTorch with CUDA, if it is installed
    language   prefill and decode throughput of language models, and of the same GGUF files in
               llama.cpp if the package cyllama is installed
    tuned      networks with kernels autotuned by `spirloom-run --tune`; only if requested

Requires Python 3.11, and NumPy for `language`, which also writes files of up to 34 GB to the
temporary directory (TMPDIR). Times are minima over several runs, or processes with --times. An idle
GPU has a low clock rate: each measurement follows at least half a second of work.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WARM_UP_MS = 1000
MAX_DEVICE_BYTES = "64G"  # the default depends on the file, which contains no weights
DEFAULT, TUNED = "default", "tuned"  # names of cache directories
TORCH_NETWORKS = 8  # of one process of PyTorch, which takes seconds to start
MAX_BINDING_MIB = 1024  # buffer bindings of 1 GiB, which most GPUs support

Results = dict[str, Any]
Words = list[str | Path]
Step = Callable[[], None]


class Bundle:
    """The programs of this directory, on one device. `limit` is the maximum duration of a process
    of python() in seconds."""

    def __init__(self, device: str, scratch: Path, limit: float | None = None) -> None:
        self.scratch, self.limit = scratch, limit
        libraries = os.pathsep.join([str(HERE / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
        packages = os.pathsep.join([str(HERE / "site"), os.environ.get("PYTHONPATH", "")])
        self.environment = dict(os.environ, LD_LIBRARY_PATH=libraries, PYTHONPATH=packages)
        if device:
            self.environment["SPIRLOOM_DEVICE"] = device

    def run(self, program: str, *arguments: str | Path) -> str:
        """Runs a program and returns its output. Raises RuntimeError with the end of its output."""
        return self._run([HERE / program, *arguments], None)

    def python(self, *arguments: str | Path) -> str:
        """Runs Python with the packages of this directory, like run()."""
        return self._run([sys.executable, *arguments], self.limit)

    def json_of(self, program: str, *arguments: str | Path) -> dict[str, Any]:
        """Runs a program with an output file as its last argument, and returns the parsed JSON."""
        out = self.scratch / "out.json"
        self.run(program, *arguments, out)
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return found

    def _run(self, command: Words, limit: float | None) -> str:
        words = " ".join(str(word) for word in command)
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env=self.environment,
                timeout=limit,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{words}:\nno result after {limit:.0f} s") from None
        if done.returncode != 0:
            last = "\n".join(f"{done.stdout}{done.stderr}".strip().splitlines()[-5:])
            raise RuntimeError(f"{words}:\n{last}")
        return done.stdout


def reason(error: RuntimeError) -> str:
    """The message of a failed program, without the context (` - While …`) of spirloom-run."""
    return [line for line in str(error).splitlines() if not line.startswith(" - ")][-1]


def peaks(bundle: Bundle, found: Results, times: int) -> Iterator[Step]:
    def measure() -> None:
        found["peaks"] = bundle.json_of("spirloom-run", "--peaks", "--remeasure", "--json")

    if "peaks" not in found:
        yield measure


def calls(bundle: Bundle, found: Results, times: int) -> Iterator[Step]:
    """By call: the minimum GPU time in seconds, and the dispatched kernels."""

    def measure() -> None:
        out = bundle.scratch / "calls.json"
        bundle.run("spirloom-kernels", HERE / "calls.slcases", "--benchmark_min_time=0.02",
                   f"--benchmark_out={out}", "--benchmark_out_format=json")  # fmt: skip
        timed = found.setdefault("call_times", {})
        for each in json.loads(out.read_text(encoding="utf-8"))["benchmarks"]:
            new = {"seconds": each["min_gpu"], "kernels": each["label"]}
            name = each["name"].removesuffix("/manual_time")
            timed[name] = fastest(new, timed.get(name, {}))
        found["call_rounds"] = found.get("call_rounds", 0) + 1

    found["calls"] = described_calls()
    for _ in range(found.get("call_rounds", 0), times):
        yield measure


def described_calls() -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = json.loads((HERE / "calls.json").read_text(encoding="utf-8"))
    return described


def networks(bundle: Bundle, found: Results, times: int) -> Iterator[Step]:
    """By network: the minimum time of a run in seconds, by the host's clock and, without copies, by
    the GPU's."""
    return timed_networks(bundle, found.setdefault("networks", {}), times, DEFAULT)


def tuned(bundle: Bundle, found: Results, times: int) -> Iterator[Step]:
    """The same with the kernels that tuning selects."""
    return timed_networks(bundle, found.setdefault("tuned", {}), times, TUNED)


def timed_networks(bundle: Bundle, timed: dict[str, Any], times: int, cache: str) -> Iterator[Step]:
    """`error` is the reason of a network's failure."""

    def measure(path: Path) -> None:
        old = timed.get(path.stem, {"rounds": 0})
        try:
            timed[path.stem] = {**fastest(run(path), old), "rounds": old["rounds"] + 1}
        except RuntimeError as error:
            timed[path.stem] = {"error": reason(error), "rounds": times}

    def run(path: Path) -> dict[str, Any]:
        common: Words = [path, "--library", HERE / "probes.slpack", "--random",
                         "--cache-dir", bundle.scratch / cache,
                         "--max-device-bytes", MAX_DEVICE_BYTES]  # fmt: skip
        if cache == TUNED:
            bundle.run("spirloom-run", *common, "--tune")
        timing: Words = ["--warmup", "5", "--warmup-ms", str(WARM_UP_MS), "--repeat", "30"]
        host = bundle.json_of("spirloom-run", *common, *timing, "--json")
        gpu = bundle.json_of("spirloom-run", *common, *timing, "--time-runs", "--json")
        return {
            "seconds": host["steady_min_ms"] / 1e3,
            "gpu_seconds": gpu["gpu_min_ms"] / 1e3,
            "dispatches": host["dispatches"],
        }

    for turn in range(times):
        for path in network_files():
            if timed.get(path.stem, {}).get("rounds", 0) <= turn:
                yield partial(measure, path)


def network_files() -> list[Path]:
    """The networks, large ones first."""
    return sorted((HERE / "networks").glob("*.slg"), key=lambda path: (-path.stat().st_size, path))


def fastest(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The minimum of each time, and the other entries of `new`."""
    lowest = {k: min(v, old.get(k, v)) for k, v in new.items() if k.endswith("seconds")}
    return {**new, **lowest}


def torch(bundle: Bundle, found: Results, times: int) -> Iterator[Step]:
    """The output of torch_cuda.py, or the reason of its failure."""
    there = found.setdefault("torch", {"calls": {}, "networks": {}, "tried": []})
    there.pop("missing", None)

    def measure(names: list[str]) -> None:
        if "missing" in there:
            return
        what: Words = [*names] or ["--calls", HERE / "calls.json"]
        command: Words = [sys.executable, HERE / "torch_cuda.py", *what, "--times", str(times)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        sys.stderr.write(done.stderr)  # calls that this PyTorch cannot run
        if done.returncode != 0:
            there["missing"] = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return
        new = json.loads(done.stdout.splitlines()[-1])
        for key in ("calls", "networks"):
            there[key] |= new.pop(key)
        there["tried"] += names
        there.update(new)

    if not there["calls"]:
        yield partial(measure, [])
    names = [path.stem for path in network_files() if path.stem not in there["tried"]]
    for start in range(0, len(names), TORCH_NETWORKS):
        yield partial(measure, names[start : start + TORCH_NETWORKS])


def language(bundle: Bundle, found: Results, times: int) -> Iterator[Step]:
    """By model: the throughput of prefill and decode in tokens/s, and the times of the import and
    of loading; the same of llama.cpp. `error` is the reason of a failure."""
    timed = found.setdefault("language", {})

    def measure(name: str, model: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory(prefix="spirloom-bench-") as scratch:
            try:
                timed[name] = language_times(bundle, model, Path(scratch))
            except RuntimeError as error:
                timed[name] = {"error": reason(error)}

    for model in json.loads((HERE / "language.json").read_text(encoding="utf-8")):
        name = f"{model['name']}-{model['weights']}"
        if name not in timed:
            yield partial(measure, name, model)


def language_times(bundle: Bundle, model: dict[str, Any], scratch: Path) -> dict[str, Any]:
    gguf, slg = scratch / "model.gguf", scratch / "model.slg"
    sizes = json.dumps(model["sizes"])
    bundle.python(HERE / "gguf_model.py", gguf, "--weights", model["weights"], "--sizes", sizes)
    start = time.monotonic()
    bundle.python("-m", "spirloom", "import", gguf, "-o", slg, "--fp16",
                  "--context", str(model["context"]), "--max-prefill", str(model["chunk"]),
                  "--max-binding", str(MAX_BINDING_MIB))  # fmt: skip
    found: dict[str, Any] = {"import_seconds": time.monotonic() - start,
                             "file_bytes": gguf.stat().st_size}  # fmt: skip
    arguments = ["--chunk", str(model["chunk"])]
    for name in ("prompts", "depths"):
        arguments += [f"--{name}", ",".join(map(str, model[name]))]

    def reply(program: str, path: Path) -> dict[str, Any]:
        printed = bundle.python(HERE / program, path, *arguments)
        reported: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return reported

    found["spirloom"] = reply("spirloom_language.py", slg)
    slg.unlink()
    try:
        return {**found, "llama_cpp": reply("llama_cpp_language.py", gguf)}
    except RuntimeError as error:
        return {**found, "llama_cpp": {"missing": reason(error)}}


PARTS: dict[str, Callable[[Bundle, Results, int], Iterator[Step]]] = {
    "peaks": peaks,
    "calls": calls,
    "networks": networks,
    "torch": torch,
    "language": language,
    "tuned": tuned,
}


def previous_results(out: Path) -> Results:
    """The results of an existing file of this bundle, else empty ones."""
    names = ("calls.json", "calls.slcases", "language.json", "spirloom-kernels", "spirloom-run")
    digest = hashlib.sha256()
    for path in (*(HERE / name for name in names), *network_files()):
        digest.update(path.read_bytes())
    found: Results = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    return found if found.get("bundle") == digest.hexdigest() else {"bundle": digest.hexdigest()}


def measure(bundle: Bundle, out: Path, parts: list[str], times: int, seconds: float) -> bool:
    """Measures what the file lacks, for about that long. Returns whether the parts are complete."""
    found, end = previous_results(out), time.monotonic() + seconds
    found["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    found["times"] = times
    for part in parts:
        for step in PARTS[part](bundle, found, times):
            if time.monotonic() > end:
                return False
            start = time.monotonic()
            step()
            print(f"{part}: {time.monotonic() - start:.1f} s", flush=True)
            partial = out.with_suffix(".partial")
            partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            partial.replace(out)
    return True


def parts_of(text: str) -> list[str]:
    parts = text.split(",")
    for part in parts:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"unknown part {part!r}; expected: {', '.join(PARTS)}")
    return parts


def main() -> int:
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write or continue")
    parser.add_argument("--device", default="", help="device, as for spirloom-run --device")
    parser.add_argument("--times", type=int, default=1, help="processes per figure (default 1)")
    parser.add_argument("--minutes", type=float, default=8,
                        help="no step starts after this (default 8)")  # fmt: skip
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS",
                        help="of a process of a language model (default 600)")  # fmt: skip
    parser.add_argument(
        "--parts",
        type=parts_of,
        default=[part for part in PARTS if part != "tuned"],
        metavar="PART,PART",
        help="what to measure (default: all but tuned)",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Bundle(arguments.device, Path(scratch), arguments.limit)
        limit = arguments.minutes * 60
        complete = measure(bundle, arguments.out, arguments.parts, arguments.times, limit)
    print(f"{'complete' if complete else 'incomplete; run again to continue'}: {arguments.out}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"bench: {error}")
