"""Times calls and networks in PyTorch on CUDA, as CUDA graphs; prints one JSON object.

    python3 torch_cuda.py [--calls calls.json] [--times 3] [NETWORK-BATCH-DTYPE …]

A call runs PyTorch's operator on arguments of the listed shapes; events measure its GPU time. A
network is one of published.py, or torchvision's with folded batch norms, in the faster of two
memory layouts.
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
# An idle GPU has a low clock rate. Before a measurement it works until a product of matrices takes
# its minimum time again, within 5 %, for consecutive runs; the first warm-up finds the minimum.
FIRST_WARM_UP, MAX_WARM_UP = 1.0, 0.5  # seconds
NEAR_RUNS = 20
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
    warm_up()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    found: list[float] = []
    for _ in range(10 * times):
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        found.append(start.elapsed_time(end) / 1e3 / calls)
    return min(found)


class WarmUp:
    """Keeps the GPU busy before measurements."""

    def __init__(self) -> None:
        self._minimum = 0.0

    def __call__(self) -> None:
        if not self._minimum:
            self._matrix = torch.ones(2048, 2048, device="cuda")
            self._minimum = self._milliseconds()
            end = time.monotonic() + FIRST_WARM_UP
            while time.monotonic() < end:
                self._minimum = min(self._minimum, self._milliseconds())
        near, end = 0, time.monotonic() + MAX_WARM_UP
        while near < NEAR_RUNS and time.monotonic() < end:
            taken = self._milliseconds()
            near = near + 1 if taken < 1.05 * self._minimum else 0
            self._minimum = min(self._minimum, taken)

    def _milliseconds(self) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        torch.mm(self._matrix, self._matrix)
        end.record()
        torch.cuda.synchronize()
        return float(start.elapsed_time(end))


warm_up = WarmUp()


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
    network, batch, dtype = name.rsplit("-", 2)
    found = []
    for layout in (torch.contiguous_format, torch.channels_last):
        model, inputs = _network(network, int(batch))
        model = model.to("cuda", DTYPES[dtype], memory_format=layout)
        inputs = [x.to("cuda", DTYPES[dtype]) for x in inputs]
        inputs = [x.to(memory_format=layout) if x.dim() == 4 else x for x in inputs]
        found.append(seconds(partial(model, *inputs), 1, times))
    return min(found)


def _network(name: str, batch: int) -> tuple[Any, list[torch.Tensor]]:
    """A module on the CPU or the GPU, and inputs."""
    from published import PUBLISHED

    if name in PUBLISHED:
        make, shapes = PUBLISHED[name]
        with torch.device("cuda"):  # initialized there, which is faster
            model = make().eval()
        return model, [torch.rand(shape) for shape in shapes.values()]
    import torchvision

    model = _folded(torchvision.models.get_model(name).eval())
    return model, [torch.randn(batch, 3, 224, 224)]


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
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--calls", type=Path)
    parser.add_argument("--times", type=int, default=3)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("this PyTorch has no CUDA device")
    torch.backends.cudnn.allow_tf32 = False  # full fp32 precision, as in Spirloom
    calls = json.loads(arguments.calls.read_text(encoding="utf-8")) if arguments.calls else []
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
