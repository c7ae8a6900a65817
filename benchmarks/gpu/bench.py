"""Times what the folder holds on a GPU, beside PyTorch where Python has one with CUDA; writes JSON.

    python3 bench.py --out gpu.json [--device NAME] [--times 3] [--parts calls,networks]

It is written after each part. A file that is there is gone on with: parts that are asked for are
measured anew, the others stay. Of another bundle's file only what the device does stays, and what
PyTorch does of networks and of calls that are the same.

    ceilings   what the device can do at most
    calls      each call of calls.json
    networks   by the host's clock and the GPU's
    language   prompts and replies of language models
    torch      calls and networks by PyTorch
    tuned      networks with the kernels that `spirloom-run --tune` finds fastest; if asked for

Needs Python 3.11 and its standard library. Every figure is the least of several processes.
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
RULE, TUNED = "rule", "tuned"  # names of caches
RATES = ("prompt_tokens_per_second", "tokens_per_second")


class Bundle:
    """The programs of the folder, on one device."""

    def __init__(self, device: str, scratch: Path) -> None:
        self.scratch = scratch
        libraries = os.pathsep.join([str(HERE / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
        self.environment = dict(os.environ, LD_LIBRARY_PATH=libraries)
        if device:
            self.environment["SPIRLOOM_DEVICE"] = device

    def run(self, program: str, *arguments: str | Path) -> str:
        """What the program prints. Raises RuntimeError with the program's last words."""
        done = subprocess.run(
            [HERE / program, *arguments],
            capture_output=True, text=True, check=False, env=self.environment,
        )  # fmt: skip
        if done.returncode != 0:
            last = "\n".join(f"{done.stdout}{done.stderr}".strip().splitlines()[-5:])
            raise RuntimeError(f"{program} {' '.join(map(str, arguments))}:\n{last}")
        return done.stdout

    def json_of(self, program: str, *arguments: str | Path) -> dict[str, Any]:
        """What the program writes to the file behind the arguments."""
        out = self.scratch / "out.json"
        self.run(program, *arguments, out)
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return found


def ceilings(bundle: Bundle) -> dict[str, Any]:
    return bundle.json_of("spirloom-run", "--ceilings", "--measure-again", "--json")


def call_times(bundle: Bundle) -> dict[str, dict[str, Any]]:
    """By call: the least GPU time in seconds, and the kernels that the rule took."""
    out = bundle.scratch / "calls.json"
    bundle.run("spirloom-kernels", HERE / "calls.slcases", "--benchmark_min_time=0.05",
               f"--benchmark_out={out}", "--benchmark_out_format=json")  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))["benchmarks"]
    return {
        each["name"].removesuffix("/manual_time"): {
            "seconds": each["least_gpu"],
            "kernels": each["label"],
        }
        for each in found
    }


def network_times(bundle: Bundle, on_gpu: bool, cache: str) -> dict[str, dict[str, Any]]:
    """By network: the least seconds of a run by the host's clock, or without copies by the GPU's.

    Kernels are those that tuning left in the cache of that name; the rule's if it left none.
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
    """The arguments that all runs of a network have; what was tuned elsewhere does not count."""
    library = HERE / "probes.slpack"
    return [path, "--library", library, "--random", "0", "--cache-dir", bundle.scratch / cache]


def tuned_times(bundle: Bundle, times: int) -> dict[str, Any]:
    """Networks with the kernels found fastest, each call of theirs measured first."""
    for path in networks():
        bundle.run("spirloom-run", *network_run(bundle, path, TUNED), "--tune")
    return both_times(bundle, times, TUNED)


def both_times(bundle: Bundle, times: int, cache: str) -> dict[str, Any]:
    """Of networks, by the host's clock and by the GPU's."""
    return {
        "network_times": least([network_times(bundle, False, cache) for _ in range(times)]),
        "network_gpu_times": least([network_times(bundle, True, cache) for _ in range(times)]),
    }


def language_rates(bundle: Bundle, times: int) -> dict[str, dict[str, Any]]:
    """By model: the most tokens a second, of a prompt and of a reply behind it."""
    found = {}
    for path in sorted((HERE / "language").glob("*.slg")):
        replies = [reply(bundle, path) for _ in range(times)]
        best = {key: max(each[key] for each in replies) for key in RATES}
        found[path.stem] = {"dispatches": replies[0]["dispatches_per_token"], **best}
    return found


def reply(bundle: Bundle, path: Path) -> dict[str, Any]:
    """What spirloom-llm tells of a reply; its models have a token for each letter."""
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
    """What torch_cuda.py prints, or why it prints nothing."""
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
    sys.stderr.write(done.stderr)  # what this PyTorch cannot run
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def least(rounds: list[dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """By name, the entry of the process that took the least time."""
    found: dict[str, dict[str, Any]] = {}
    for times in rounds:
        for name, each in times.items():
            if name not in found or each["seconds"] < found[name]["seconds"]:
                found[name] = each
    return found


def calls(bundle: Bundle, times: int) -> dict[str, Any]:
    return {
        "calls": json.loads((HERE / "calls.json").read_text(encoding="utf-8")),
        "call_times": least([call_times(bundle) for _ in range(times)]),
    }


PARTS: dict[str, Callable[[Bundle, int], dict[str, Any]]] = {
    "ceilings": lambda bundle, _: {"ceilings": ceilings(bundle)},
    "calls": calls,
    "networks": lambda bundle, times: both_times(bundle, times, RULE),
    "language": lambda bundle, times: {"language": language_rates(bundle, times)},
    "torch": lambda _, times: {"torch": torch_times(times)},
    "tuned": lambda bundle, times: {"tuned": tuned_times(bundle, times)},
}


def begun(out: Path, times: int) -> dict[str, Any]:
    """What the file has of this bundle, and how it comes about from now on."""
    digest = hashlib.sha256()
    for name in ("calls.slcases", "probes.slpack", "spirloom-kernels", "spirloom-run"):
        digest.update((HERE / name).read_bytes())
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    if found.get("bundle") != digest.hexdigest():
        found = {"bundle": digest.hexdigest(), **of_any_bundle(found)}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {**found, "date": today, "times": min(times, found.get("times", times))}


def of_any_bundle(found: dict[str, Any]) -> dict[str, Any]:
    """What of another bundle's figures holds for this one: the device's, and PyTorch's of the
    same calls."""
    now = json.loads((HERE / "calls.json").read_text(encoding="utf-8"))
    same = [call["id"] for call in found.get("calls", []) if call in now]
    kept = {part: found[part] for part in ("ceilings", "torch") if part in found}
    if times := kept.get("torch", {}).get("calls"):
        kept["torch"]["calls"] = {name: times[name] for name in same if name in times}
    return kept


def parts_of(text: str) -> list[str]:
    parts = text.split(",")
    for part in parts:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"{part!r} is none of: {', '.join(PARTS)}.")
    return parts


def main() -> int:
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write")
    parser.add_argument("--device", default="", help="as spirloom-run takes it")
    parser.add_argument(
        "--times", type=int, default=3, help="processes for each figure (default 3)"
    )
    parser.add_argument(
        "--parts",
        type=parts_of,
        default=[part for part in PARTS if part != "tuned"],
        metavar="PART,PART",
        help="what to measure (default: all but tuned)",
    )
    arguments = parser.parse_args()
    found = begun(arguments.out, arguments.times)
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
