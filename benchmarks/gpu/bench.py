"""Times the contents of this directory on a GPU, and PyTorch with CUDA if available; writes JSON.

    python3 bench.py --out gpu.json [--device NAME] [--times 3] [--parts calls,networks]

The file is written after each part. An existing file is updated: the requested parts are measured
again, the other parts are kept. From a file of another bundle, only the device peaks and PyTorch's
figures of networks and of unchanged calls are kept.

    peaks      device peaks: bandwidth, arithmetic throughput, dispatch latency
    calls      each call of calls.json
    networks   latency by the host's clock and by the GPU's
    language   prefill and decode throughput of language models
    torch      calls and networks in PyTorch
    tuned      networks with kernels autotuned by `spirloom-run --tune`; only if requested

Requires Python 3.11 and its standard library. Every figure is the minimum over several processes.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROMPT_TOKENS, REPLY_TOKENS = 512, 128
DEFAULT, TUNED = "default", "tuned"  # names of cache directories
RATES = ("prompt_tokens_per_second", "tokens_per_second")


class Bundle:
    """The programs of this directory, on one device."""

    def __init__(self, device: str, scratch: Path) -> None:
        self.scratch = scratch
        libraries = os.pathsep.join([str(HERE / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
        self.environment = dict(os.environ, LD_LIBRARY_PATH=libraries)
        if device:
            self.environment["SPIRLOOM_DEVICE"] = device

    def run(self, program: str, *arguments: str | Path) -> str:
        """Runs a program and returns its output. Raises RuntimeError with the end of its output."""
        done = subprocess.run(
            [HERE / program, *arguments],
            capture_output=True, text=True, check=False, env=self.environment,
        )  # fmt: skip
        if done.returncode != 0:
            last = "\n".join(f"{done.stdout}{done.stderr}".strip().splitlines()[-5:])
            raise RuntimeError(f"{program} {' '.join(map(str, arguments))}:\n{last}")
        return done.stdout

    def json_of(self, program: str, *arguments: str | Path) -> dict[str, Any]:
        """Runs a program with an output file as its last argument, and returns the parsed JSON."""
        out = self.scratch / "out.json"
        self.run(program, *arguments, out)
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return found


def peaks(bundle: Bundle) -> dict[str, Any]:
    return bundle.json_of("spirloom-run", "--peaks", "--remeasure", "--json")


def call_times(bundle: Bundle) -> dict[str, dict[str, Any]]:
    """By call: the minimum GPU time in seconds, and the dispatched kernels."""
    out = bundle.scratch / "calls.json"
    bundle.run("spirloom-kernels", HERE / "calls.slcases", "--benchmark_min_time=0.05",
               f"--benchmark_out={out}", "--benchmark_out_format=json")  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
    return {
        each["name"].removesuffix("/manual_time"): {
            "seconds": each["min_gpu"],
            "kernels": each["label"],
        }
        for each in found
    }


def network_times(bundle: Bundle, on_gpu: bool, cache: str) -> dict[str, dict[str, Any]]:
    """By network: the minimum time of a run in seconds, by the host's clock or, without copies, by
    the GPU's.

    Kernels are those that tuning stored in the cache directory of that name, else the default ones.
    """
    found = {}
    for path in networks():
        flags = ["--time-runs"] if on_gpu else []
        stats = bundle.json_of("spirloom-run", *network_run(bundle, path, cache), "--warmup", "5",
                               "--repeat", "30", *flags, "--json")  # fmt: skip
        key = "gpu_min_ms" if on_gpu else "steady_min_ms"
        found[path.stem] = {"seconds": stats[key] / 1e3, "dispatches": stats["dispatches"]}
    return found


def networks() -> list[Path]:
    return sorted((HERE / "networks").glob("*.slg"))


def network_run(bundle: Bundle, path: Path, cache: str) -> list[str | Path]:
    """The common arguments of all runs of a network, with a cache directory of this process."""
    library = HERE / "probes.slpack"
    return [path, "--library", library, "--random", "0", "--cache-dir", bundle.scratch / cache]


def tuned_times(bundle: Bundle, times: int) -> dict[str, Any]:
    """Tunes the networks, then times them."""
    for path in networks():
        bundle.run("spirloom-run", *network_run(bundle, path, TUNED), "--tune")
    return both_times(bundle, times, TUNED)


def both_times(bundle: Bundle, times: int, cache: str) -> dict[str, Any]:
    """The times of networks by the host's clock and by the GPU's."""
    return {
        "network_times": fastest([network_times(bundle, False, cache) for _ in range(times)]),
        "network_gpu_times": fastest([network_times(bundle, True, cache) for _ in range(times)]),
    }


def language_rates(bundle: Bundle, times: int) -> dict[str, dict[str, Any]]:
    """By model: the maximum throughput of prefill and decode in tokens/s."""
    found = {}
    for path in sorted((HERE / "language").glob("*.slg")):
        replies = [reply(bundle, path) for _ in range(times)]
        best = {key: max(each[key] for each in replies) for key in RATES}
        found[path.stem] = {"dispatches": replies[0]["dispatches_per_token"], **best}
    return found


def reply(bundle: Bundle, path: Path) -> dict[str, Any]:
    """The statistics of spirloom-llm. The models have one token per letter."""
    printed = bundle.run(
        "spirloom-llm",
        path,
        "--prompt",
        "a" * PROMPT_TOKENS,
        "--tokens",
        str(REPLY_TOKENS),
        "--json",
    )
    found: dict[str, Any] = json.loads(printed)
    return found


def torch_times(times: int) -> dict[str, Any]:
    """The output of torch_cuda.py, or the reason of its failure."""
    names = [path.stem for path in networks()]
    command: list[str | Path] = [
        sys.executable,
        HERE / "torch_cuda.py",
        HERE / "calls.json",
        *names,
    ]
    done = subprocess.run(
        [*command, "--times", str(times)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return {"missing": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    sys.stderr.write(done.stderr)  # calls that this PyTorch cannot run
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def fastest(rounds: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """By name, the entry of the fastest process."""
    found: dict[str, dict[str, Any]] = {}
    for times in rounds:
        for name, each in times.items():
            if name not in found or each["seconds"] < found[name]["seconds"]:
                found[name] = each
    return found


def calls(bundle: Bundle, times: int) -> dict[str, Any]:
    return {
        "calls": json.loads((HERE / "calls.json").read_text(encoding="utf-8")),
        "call_times": fastest([call_times(bundle) for _ in range(times)]),
    }


PARTS: dict[str, Callable[[Bundle, int], dict[str, Any]]] = {
    "peaks": lambda bundle, _: {"peaks": peaks(bundle)},
    "calls": calls,
    "networks": lambda bundle, times: both_times(bundle, times, DEFAULT),
    "language": lambda bundle, times: {"language": language_rates(bundle, times)},
    "torch": lambda _, times: {"torch": torch_times(times)},
    "tuned": lambda bundle, times: {"tuned": tuned_times(bundle, times)},
}


def previous_results(out: Path, times: int) -> dict[str, Any]:
    """The reusable results of an existing file, with the conditions of this measurement."""
    digest = hashlib.sha256()
    for name in ("calls.slcases", "probes.slpack", "spirloom-kernels", "spirloom-run"):
        digest.update((HERE / name).read_bytes())
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    if found.get("bundle") != digest.hexdigest():
        found = {"bundle": digest.hexdigest(), **bundle_independent(found)}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {**found, "date": today, "times": min(times, found.get("times", times))}


def bundle_independent(found: dict[str, Any]) -> dict[str, Any]:
    """The results that do not depend on the bundle: device peaks, and PyTorch's figures of
    unchanged calls."""
    now = json.loads((HERE / "calls.json").read_text(encoding="utf-8"))
    same = [call["id"] for call in found.get("calls", []) if call in now]
    kept: dict[str, Any] = {part: found[part] for part in ("peaks", "torch") if part in found}
    if times := kept.get("torch", {}).get("calls"):
        kept["torch"]["calls"] = {name: times[name] for name in same if name in times}
    return kept


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
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--device", default="", help="device, as for spirloom-run --device")
    parser.add_argument("--times", type=int, default=3, help="processes per figure (default 3)")
    parser.add_argument(
        "--parts",
        type=parts_of,
        default=[part for part in PARTS if part != "tuned"],
        metavar="PART,PART",
        help="what to measure (default: all but tuned)",
    )
    arguments = parser.parse_args()
    found = previous_results(arguments.out, arguments.times)
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Bundle(arguments.device, Path(scratch))
        for part in arguments.parts:
            print(f"== {part}", flush=True)
            found |= PARTS[part](bundle, arguments.times)
            arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"written: {arguments.out}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"bench: {error}")
