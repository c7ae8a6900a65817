"""torch.compile(module, backend="spirloom"): Dynamo's graphs run on the device where they can.

`spirloom` is the entry point of the group `torch_dynamo_backends`: torch registers it, so this
module must not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd

from spirloom.ops import OpLibrary
from spirloom.partition import Report
from spirloom.torch.compiled import wants_gradients, warn_again, warn_once
from spirloom.torch.export import decompositions
from spirloom.torch.options import Options
from spirloom.torch.segments import Setting
from spirloom.torch.traced_module import TracedModule

__all__ = ["reports", "spirloom"]


def spirloom(module: Any, inputs: Sequence[Any], **given: Any) -> Callable[..., Any]:
    """Compiles a graph of Dynamo's. With gradients to record, torch runs it as it is.

    `options=` of torch.compile may be `fp16` and `ranges`, of int64 inputs by name.
    """
    if wants_gradients([*inputs, *module.parameters()]):
        warn_once()
        return module.forward  # type: ignore[no-any-return]
    chosen = given.get("options") or {}
    setting = Setting(
        library=_library(),
        options=Options.of({}, chosen.get("ranges", {}), bool(chosen.get("fp16"))),
    )
    kept, replaced = _decompositions()
    compiler = aot_autograd(
        fw_compiler=lambda graph, example: TracedModule(graph, _fixed(), setting, _reports.append),
        decompositions=replaced,
    )
    with torch.no_grad(), kept():
        return compiler(module, inputs)  # type: ignore[no-any-return]


def reports() -> list[Report]:
    """What went where in the graphs that were prepared since torch._dynamo.reset(), in order."""
    return list(_reports)


def _reset() -> None:
    _reports.clear()
    warn_again()


spirloom.reset = _reset  # type: ignore[attr-defined] # called by torch._dynamo.reset()
_reports: deque[Report] = deque(maxlen=1000)


@cache
def _library() -> OpLibrary:
    return OpLibrary.with_dirs([])


@cache
def _decompositions() -> tuple[Callable[[], Any], Any]:
    """A context in which torch leaves whole what Spirloom has, and decompositions of the rest.

    The same as of an export: operators that torch composes of others stay as they are.
    """
    from torch.export import exported_program

    table = dict(decompositions(_library()))
    composed, rest = exported_program._split_decomp_table_to_cia_and_python_decomp(table)
    return lambda: exported_program._override_composite_implicit_decomp(composed), rest


def _fixed() -> tuple[int, ...]:
    """The places of the inputs that are parameters and buffers."""
    context = torch._guards.TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    return () if metadata is None else tuple(metadata.static_input_indices or ())
