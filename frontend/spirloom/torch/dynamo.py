"""torch.compile(module, backend="spirloom"): runs supported calls of Dynamo's graphs on the device.

`spirloom` is an entry point of the group `torch_dynamo_backends`: torch registers the backend, so
this module must not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd

from spirloom.errors import check_known
from spirloom.op_library import OpLibrary
from spirloom.partition import Report
from spirloom.torch.compiled import reset_warning, wants_gradients, warn_once
from spirloom.torch.export import decompositions as export_decompositions
from spirloom.torch.options import Options
from spirloom.torch.segments import CompileSettings
from spirloom.torch.traced_module import TracedModule

__all__ = ["reports", "spirloom"]

_OPTIONS = ("assume_int32", "fp16", "keep_float32", "ranges")


def spirloom(module: Any, inputs: Sequence[Any], **keywords: Any) -> Callable[..., Any]:
    """Compiles a graph of Dynamo. Graphs that require gradients run in torch.

    `options=` of torch.compile may have `fp16`, `keep_float32`, `assume_int32`, and `ranges` of
    int64 inputs by name. Raises ImportFailure for others.
    """
    chosen = keywords.get("options") or {}
    check_known(chosen, _OPTIONS, "Unknown option '{}' of torch.compile.")
    if wants_gradients([*inputs, *module.parameters()]):
        warn_once()
        return module.forward  # type: ignore[no-any-return]
    settings = CompileSettings(
        library=_library(),
        options=Options.of(
            {},
            chosen.get("ranges", {}),
            bool(chosen.get("fp16")),
            keep_float32=chosen.get("keep_float32", ()),
            assume_int32=bool(chosen.get("assume_int32")),
        ),
    )
    preserving, decompositions = _decompositions()
    compiler = aot_autograd(
        fw_compiler=lambda graph, _: TracedModule(
            graph, _static_inputs(), settings, _reports.append
        ),
        decompositions=decompositions,
    )
    with torch.no_grad(), preserving():
        return compiler(module, inputs)  # type: ignore[no-any-return]


def reports() -> list[Report]:
    """The partitions of the graphs prepared since torch._dynamo.reset(), in order."""
    return list(_reports)


def _reset() -> None:
    _reports.clear()
    reset_warning()


spirloom.reset = _reset  # type: ignore[attr-defined] # called by torch._dynamo.reset()
_reports: deque[Report] = deque(maxlen=1000)


@cache
def _library() -> OpLibrary:
    return OpLibrary.with_dirs([])


@cache
def _decompositions() -> tuple[Callable[[], Any], Any]:
    """A context in which torch preserves composite operators that Spirloom supports, and the
    decompositions of the others. The same as in an export.
    """
    from torch.export import exported_program

    table = dict(export_decompositions(_library()))
    composed, rest = exported_program._split_decomp_table_to_cia_and_python_decomp(table)
    return lambda: exported_program._override_composite_implicit_decomp(composed), rest


def _static_inputs() -> tuple[int, ...]:
    """The indices of the inputs that are parameters and buffers."""
    context = torch._guards.TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    return () if metadata is None else tuple(metadata.static_input_indices or ())
