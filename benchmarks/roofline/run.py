"""Times the calls of this directory on a GPU, and in PyTorch with CUDA if available; writes JSON.

    python3 run.py --out roofline.json [--device NAME] [--minutes 8] [--times 1]

Calls are in packs of descending importance. The file is written after each pack, and an existing
file of the same bundle is continued: a run that is killed, or stops after --minutes, loses at most
one pack. Requires Python 3.11 and its standard library.
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
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Seconds of GPU time per call and process: hundreds of runs of a short call.
MIN_TIME = 0.002


class Bundle:
    """The programs of this directory, on one device."""

    def __init__(self, device: str, scratch: Path) -> None:
        self.scratch = scratch
        libraries = os.pathsep.join([str(HERE / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
        self.environment = dict(os.environ, LD_LIBRARY_PATH=libraries)
        if device:
            self.environment["SPIRLOOM_DEVICE"] = device

    def peaks(self) -> dict[str, Any]:
        """The peaks of the device."""
        out = self.scratch / "peaks.json"
        done = self._run("spirloom-run", "--peaks", "--remeasure", "--json", out)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        return found

    def times(self, pack: Path) -> dict[str, dict[str, Any]]:
        """By call of a pack: the minimum GPU time in seconds and the dispatched kernels, or the
        error. A pack whose process crashes is an error of its first call without a time."""
        out = self.scratch / "times.json"
        out.unlink(missing_ok=True)
        done = self._run("spirloom-kernels", pack, f"--benchmark_min_time={MIN_TIME}",
                         f"--benchmark_out={out}", "--benchmark_out_format=json")  # fmt: skip
        text = out.read_text(encoding="utf-8") if out.exists() else ""
        if not text.rstrip().endswith("}"):  # it ended before the last call
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return {"": {"error": f"exit code {done.returncode}: {last}"}}
        return {
            each["name"].removesuffix("/manual_time"): _time(each)
            for each in json.loads(text)["benchmarks"]
        }

    def _run(self, program: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [HERE / program, *arguments],
            capture_output=True, text=True, check=False, env=self.environment,
        )  # fmt: skip


def _time(entry: dict[str, Any]) -> dict[str, Any]:
    if entry.get("error_occurred"):
        return {"error": entry["error_message"]}
    return {"seconds": entry["min_gpu"], "kernels": entry["label"]}


def torch_times(calls: Path, times: int) -> dict[str, Any]:
    """The output of torch_cuda.py, or the reason of its failure."""
    done = subprocess.run(
        [sys.executable, HERE / "torch_cuda.py", "--calls", calls, "--times", str(times)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        return {"missing": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def previous(out: Path) -> dict[str, Any]:
    """The results of an existing file of this bundle, else empty ones."""
    digest = hashlib.sha256()
    for path in (*sorted((HERE / "packs").iterdir()), HERE / "spirloom-kernels"):
        digest.update(path.read_bytes())
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    if found.get("bundle") != digest.hexdigest():
        calls = json.loads((HERE / "calls.json").read_text(encoding="utf-8"))
        for call in calls:
            del call["args"]  # only PyTorch requires them
        found = {"bundle": digest.hexdigest(), "calls": calls, "packs": {}, "times": {}}
    return {**found, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}


def measure(bundle: Bundle, out: Path, times: int, seconds: float) -> bool:
    """Measures what the file lacks, for about that long. Returns whether it is complete."""
    found, end = previous(out), time.monotonic() + seconds

    def store() -> None:
        text = json.dumps(found, indent=1)
        partial = out.with_suffix(".partial")
        partial.write_text(text + "\n", encoding="utf-8")
        partial.replace(out)

    if "peaks" not in found:
        found["peaks"] = bundle.peaks()
        store()
    for pack in sorted((HERE / "packs").glob("*.slcases")):
        for _ in range(found["packs"].get(pack.stem, 0), times):
            if time.monotonic() > end:
                return False
            for name, each in bundle.times(pack).items():
                old = found["times"].get(name)
                if old is None or each.get("seconds", 0) < old.get("seconds", 0):
                    found["times"][name] = each
            found["packs"][pack.stem] = found["packs"].get(pack.stem, 0) + 1
            store()
            print(f"{pack.stem}: {len(found['times'])} of {len(found['calls'])}", flush=True)
    torch = found.setdefault("torch", {"calls": {}, "chunks": []})
    for chunk in sorted((HERE / "packs").glob("*.json")):
        if "missing" in torch or chunk.stem in torch["chunks"]:
            continue
        if time.monotonic() > end:
            return False
        new = torch_times(chunk, times)
        torch["calls"] |= new.pop("calls", {})
        torch["chunks"].append(chunk.stem)
        torch |= new
        store()
        print(f"PyTorch: {len(torch['calls'])} calls", flush=True)
    return True


def main() -> int:
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write or continue")
    parser.add_argument("--device", default="", help="device, as for spirloom-run --device")
    parser.add_argument("--times", type=int, default=1, help="processes per figure (default 1)")
    parser.add_argument("--minutes", type=float, default=8, help="stop after this (default 8)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Bundle(arguments.device, Path(scratch))
        complete = measure(bundle, arguments.out, arguments.times, arguments.minutes * 60)
    print(f"{'complete' if complete else 'incomplete; run again to continue'}: {arguments.out}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"run: {error}")
