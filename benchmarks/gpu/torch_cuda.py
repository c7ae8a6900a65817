"""Times calls and networks in PyTorch on CUDA, as CUDA graphs; prints one JSON object.

    python3 torch_cuda.py calls.json [--times 3] [NETWORK-BATCH-DTYPE …]

A call runs PyTorch's operator on arguments of the listed shapes; events measure its GPU time. A
network is torchvision's with folded batch norms, in the faster of two memory layouts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

CALLS_IN_GRAPH = 10
WARM_UP = 0.05  # seconds of work before a measurement: an idle GPU has a low clock rate
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bool": torch.bool}


def seconds(run: Callable[[], Any], calls: int, times: int) -> float:
    """The minimum time per call over replays of a CUDA graph of `calls` calls."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            run()
    warm_up(WARM_UP)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    found: list[float] = []
    for _ in range(10 * times):
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end) / 1e3 / calls)
    return min(found)


def warm_up(least: float) -> None:
    """Keeps the GPU busy with products of matrices for about that many seconds."""
    matrix = torch.ones(2048, 2048, device="cuda")
    end = time.monotonic() + least
    while time.monotonic() < end:
        torch.mm(matrix, matrix)
        torch.cuda.synchronize()


def operator(name: str) -> Any:
    """`aten.add.Tensor`, or the default overload of `aten.mm`."""
    namespace, packet, *overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), *(overload or ["default"]))


def call_seconds(call: dict[str, Any], times: int) -> float:
    function = operator(call["torch"])
    dtype = DTYPES[call["dtype"]]
    values = [_value(arg, dtype) for arg in call["args"]]
    # Spirloom's operators have their additional arguments after those of PyTorch.
    schema = function._schema.arguments
    positional = [v for v, arg in zip(values, schema, strict=False) if not arg.kwarg_only]
    named = {
        arg.name: v
        for v, arg in zip(values, schema, strict=False)
        if arg.kwarg_only and v is not None
    }
    if "scale" in named and not named["scale"]:
        del named["scale"]
    # Required arguments of PyTorch that Spirloom lacks, such as half_to_float of softmax.
    named |= {arg.name: False for arg in schema[len(values) :] if not arg.has_default_value()}
    return seconds(lambda: function(*positional, **named), CALLS_IN_GRAPH, times)


def _value(arg: Any, dtype: torch.dtype) -> Any:
    """The argument on the GPU. A tensor is `{"shape"}`, with a dtype if it may have another than
    the call; integers are indices up to `"max"`."""
    if isinstance(arg, list) and arg and isinstance(arg[0], dict):
        return [_value(item, dtype) for item in arg]
    if not isinstance(arg, dict):
        return arg
    if arg.get("dtype", "f32") == "i32":
        return torch.randint(0, arg.get("max", 1) + 1, arg["shape"], device="cuda")
    dtype = DTYPES[arg["dtype"]] if "dtype" in arg else dtype
    return torch.randn(arg["shape"], device="cuda").to(dtype)


def network_seconds(name: str, times: int) -> float:
    import torchvision

    network, batch, dtype = name.rsplit("-", 2)
    found = []
    for layout in (torch.contiguous_format, torch.channels_last):
        model = torchvision.models.get_model(network).eval()
        model = _folded(model).to("cuda", DTYPES[dtype], memory_format=layout)
        image = torch.randn(int(batch), 3, 224, 224, dtype=DTYPES[dtype], device="cuda")
        image = image.to(memory_format=layout)
        found.append(seconds(partial(model, image), 1, times))
    return min(found)


def _folded(model: Any) -> Any:
    from torch.fx.experimental.optimization import fuse

    try:
        return fuse(model)
    except Exception:  # networks that cannot be traced have no batch norm
        return model


def all_seconds(measured: dict[str, Callable[[], float]]) -> dict[str, float]:
    """The times of those that this PyTorch can run; errors go to stderr."""
    found = {}
    for name, measure in measured.items():
        try:
            found[name] = measure()
            torch.cuda.empty_cache()
        except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("calls", type=Path)
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("this PyTorch has no CUDA device")
    torch.backends.cudnn.allow_tf32 = False  # full fp32 precision, as in Spirloom
    calls = json.loads(arguments.calls.read_text(encoding="utf-8"))
    networks, times = arguments.networks, arguments.times
    with torch.inference_mode():
        found = {
            "version": torch.__version__,
            "device": torch.cuda.get_device_name(),
            "calls": all_seconds({c["id"]: partial(call_seconds, c, times) for c in calls}),
            "networks": all_seconds({n: partial(network_seconds, n, times) for n in networks}),
        }
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
