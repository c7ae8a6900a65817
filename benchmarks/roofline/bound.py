"""Lower bounds of the time of a call: arithmetic, compulsory memory traffic, and latency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from spirloom.ir import ArgValue, Node, Tensor
from spirloom.op_library import OpLibrary

from benchmarks.roofline.call import position_in
from benchmarks.work import moved_bytes, multiply_adds
from spec_model.traits import Trait

_CACHED = ("spirloom.cached_attention", "spirloom.decode_attention")
# Operators that read the elements of their first tensor that indices select.
_GATHERS = ("aten.gather", "aten.index_select", "aten.index.Tensor", "aten.embedding",
            "spirloom.embedding", "spirloom.tied_embedding", "spirloom.index_nd",
            "spirloom.gather_nd")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Work:
    """The multiply-adds of a call's definition, and the bytes that it must read and write."""

    multiply_adds: int
    bytes: int


def work_of(node: Node, library: OpLibrary) -> Work:
    """The work of a call."""
    args = dict(zip(library.arg_names(node.op), node.args, strict=True))
    return Work(_multiply_adds(node, args), _bytes(node, args, library))


def _multiply_adds(node: Node, args: Mapping[str, ArgValue]) -> int:
    if node.op.startswith(_CACHED):
        query, keys = args.get("query", args.get("x")), args["keys"]
        assert isinstance(query, Tensor) and isinstance(keys, Tensor)
        rows = position_in(keys) + query.shape[1]
        if "query" in args:
            return 2 * rows * prod(query.shape)
        heads = query.shape[-1] // _depth(args) - 2 * keys.shape[2]
        return 2 * rows * heads * _depth(args)
    x, weight = args.get("x"), args.get("weight")
    if "linear" in node.op and isinstance(x, Tensor) and isinstance(weight, Tensor):
        return prod(x.shape) * weight.shape[0]
    return multiply_adds(node, args)


def _depth(args: Mapping[str, ArgValue]) -> int:
    """The head depth of a decoding step: RoPE tables have half of it."""
    cos = args["cos"]
    assert isinstance(cos, Tensor)
    return 2 * cos.shape[-1]


def _bytes(node: Node, args: Mapping[str, ArgValue], library: OpLibrary) -> int:
    """Operands and results once each; of selected elements and KV caches, those that are used."""
    results = sum(tensor.size for tensor in node.outputs)
    if library.has_trait(node.op, Trait.MOVES_DATA, args) or node.op.startswith(_GATHERS):
        return results + sum(min(t.size, results) for t in dict.fromkeys(node.inputs()))
    if node.op.startswith(_CACHED):
        keys = args["keys"]
        assert isinstance(keys, Tensor)
        caches = sum(t.size for t in node.inputs() if t.shape == keys.shape)
        read = 2 * (keys.size * position_in(keys) // keys.shape[1])
        written = sum(t.size for t in node.outputs if t.shape == keys.shape)
        return moved_bytes(node, args) - caches - written + read
    return moved_bytes(node, args)


def bounds(call: Mapping[str, Any], rates: Mapping[str, float]) -> dict[str, float]:
    """The bounds in seconds of a call of the results: `bandwidth`, `arithmetic` and `latency`.

    `rates`: bytes and operations per second, the latter by dtype, and the seconds of an empty
    dispatch.
    """
    return {
        "bandwidth": call["bytes"] / rates["bytes"],
        "arithmetic": 2 * call["multiply_adds"] / rates.get(call["dtype"], rates["f32"]),
        "latency": rates["dispatch"],
    }


def bound(call: Mapping[str, Any], rates: Mapping[str, float]) -> float:
    """The largest bound in seconds."""
    return max(bounds(call, rates).values())


def limit(call: Mapping[str, Any], rates: Mapping[str, float]) -> str:
    """The name of the largest bound."""
    found = bounds(call, rates)
    return max(found, key=found.__getitem__)


def rates_of(results: Mapping[str, Any]) -> dict[str, float]:
    """The rates of a device: bandwidth of a copy, latency of a dependent dispatch, and arithmetic
    by dtype: the peak of fp32 in registers or, if a call of either program exceeds it (cooperative
    matrices), the maximum of all calls."""
    peaks = results["peaks"]
    rates = {"bytes": peaks["copy"], "dispatch": peaks["dispatch_ns"] * 1e-9}
    torch = results.get("torch", {}).get("calls", {})
    for dtype in ("f32", "f16"):
        rates[dtype] = peaks["multiply_add"]
        for call in results["calls"]:
            times = [results["times"].get(call["id"], {}).get("seconds"), torch.get(call["id"])]
            for seconds in times if call["dtype"] == dtype else ():
                if seconds:
                    rates[dtype] = max(rates[dtype], 2 * call["multiply_adds"] / seconds)
    return rates
