"""Times and checks the versions of a kernel in this directory, and prints a table.

    python3 sweep.py [--json FILE] [--device NAME] [--times 3]

Requires Python 3.11 and its standard library. The time is the minimum GPU time over several
processes. The error is the maximum difference from the results of a portable kernel on the same
device, relative to the maximum result. Exit code 1 if a version exceeds the tolerance.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import Bundle

HERE = Path(__file__).resolve().parent
WRONG = "WRONG"
TITLES = ("version", "us", "rate", "error", "")


def sweep(bundle: Bundle, plan: dict[str, Any], times: int) -> list[dict[str, Any]]:
    """A row for each call and version, and one for the default kernel."""
    rows = []
    for call in plan["calls"]:
        rows.append(
            {"call": call["text"], "title": "default kernel"} | default(bundle, call, times)
        )
        for version in plan["versions"]:
            found = {"remark": version["remark"] or "does not support this call"}
            if version["kernel"] in call["kernels"]:
                found = measured(bundle, call, version["kernel"], times)
            rows.append({"call": call["text"], **version} | found)
    return rows


def default(bundle: Bundle, call: dict[str, Any], times: int) -> dict[str, Any]:
    return {"seconds": seconds(bundle, call, "default.slg", [], times)}


def measured(bundle: Bundle, call: dict[str, Any], kernel: str, times: int) -> dict[str, Any]:
    """Time and error of a version, or the error message of the program."""
    try:
        error = error_of(bundle, call, kernel)
        found = {"seconds": seconds(bundle, call, "time.slg", ["--kernel", kernel], times)}
    except RuntimeError as failure:
        _command, *message = str(failure).splitlines()
        return {"remark": " ".join(line.strip() for line in message)}
    wrong = not error <= call["tolerance"]  # also for NaN
    return found | {"error": error, "remark": WRONG if wrong else ""}


def error_of(bundle: Bundle, call: dict[str, Any], kernel: str) -> float:
    run(bundle, call, "check.slg", ["--kernel", kernel, "--kernel", call["reference"]],
        "--output-dir", bundle.scratch)  # fmt: skip
    error, scale = (last_float(bundle.scratch / f"{name}.npy") for name in ("error", "scale"))
    return error / scale if scale > 0 else error


def last_float(path: Path) -> float:
    """The float32 value of an .npy file with one element."""
    (value,) = struct.unpack("<f", path.read_bytes()[-4:])
    return float(value)


def seconds(
    bundle: Bundle, call: dict[str, Any], graph: str, kernels: list[str], times: int
) -> float:
    """The minimum GPU time of a run."""
    out = bundle.scratch / "stats.json"
    found: list[float] = []
    for _ in range(times):
        run(bundle, call, graph, kernels, "--profile", "--warmup", "3", "--repeat", "20",
            "--json", out)  # fmt: skip
        found.append(json.loads(out.read_text(encoding="utf-8"))["gpu_min_ms"] / 1e3)
    return min(found)


def run(
    bundle: Bundle, call: dict[str, Any], graph: str, kernels: list[str], *options: str | Path
) -> None:
    libraries = ("--library", HERE / "sweep.slpack", "--library", HERE / "probes.slpack")
    path = HERE / call["directory"] / graph
    cache = ("--cache-dir", bundle.scratch / "cache")  # ignore tuning results of other programs
    bundle.run("spirloom-run", path, *libraries, *kernels, "--random", *cache, *options)


def rate(call: dict[str, Any], taken: float) -> str:
    """Throughput: operations per second if multiply-adds are counted, else bytes per second."""
    if call["multiply_adds"]:
        return f"{2e-9 * call['multiply_adds'] / taken:.1f} GFLOP/s"
    return f"{1e-9 * call['bytes'] / taken:.1f} GB/s"


def table(plan: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """A table per call, fastest version first, wrong results last."""
    lines = []
    for call in plan["calls"]:
        own = [row for row in rows if row["call"] == call["text"]]
        own.sort(key=lambda row: (row.get("remark") == WRONG, row.get("seconds", float("inf"))))
        cells = [TITLES, *(cells_of(call, row) for row in own)]
        widths = [max(len(row[i]) for row in cells) for i in range(4)]
        lines += ["", f"{plan['op']} {call['text']}"]
        for row in cells:
            first, *middle = (f"{c:{'<' if i == 0 else '>'}{w}}" for i, (c, w) in
                              enumerate(zip(row, widths, strict=False)))  # fmt: skip
            lines.append("  ".join((first, *middle, row[-1])).rstrip())
    return "\n".join(lines[1:])


def cells_of(call: dict[str, Any], row: dict[str, Any]) -> tuple[str, str, str, str, str]:
    taken, error = row.get("seconds"), row.get("error")
    return (
        row["title"],
        "" if taken is None else f"{taken * 1e6:.1f}",
        "" if taken is None else rate(call, taken),
        "" if error is None else f"{error:.1e}",
        row.get("remark", ""),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the results as JSON")
    parser.add_argument("--device", default="", help="device, as in spirloom-run")
    parser.add_argument("--times", type=int, default=3, help="processes per version (default 3)")
    arguments = parser.parse_args()
    plan = json.loads((HERE / "plan.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        rows = sweep(Bundle(arguments.device, Path(scratch)), plan, arguments.times)
    print(table(plan, rows))
    if arguments.json is not None:
        found = {"op": plan["op"], "kernel": plan["kernel"], "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row.get("remark") == WRONG for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"sweep: {error}")
