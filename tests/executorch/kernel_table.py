"""Makes the table of ExecuTorch's kernels that the import of programs reads.

python -m tests.executorch.kernel_table > frontend/spirloom/pte/kernels.txt

What ExecuTorch registers is named after PyTorch's variants that write into given tensors; each has
the arguments of one that does not, and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import executorch
import torch
from executorch.runtime import Runtime

HEAD = """\
# ExecuTorch's kernels: the operator of PyTorch that each computes, and its arguments (behind * by
# keyword alone), which the tensors that it writes follow. Made by tests/executorch/kernel_table.py.
"""
# What has no variant without given tensors in PyTorch: like these.
_LIKE = {
    "dim_order_ops::_clone_dim_order.out": "aten.clone self *non_blocking *dim_order",
    "dim_order_ops::_to_dim_order_copy.out": "aten._to_copy self *non_blocking *dim_order",
    "executorch_prim::et_view.default": "aten.view self size",
}
# What a tensor that is written tells.
_TOLD = frozenset({"dtype", "layout", "device", "pin_memory"})


def table() -> str:
    """The whole file."""
    return HEAD + "".join(f"{line}\n" for line in sorted({*_lines(), *_special()}))


def _special() -> Iterator[str]:
    for name in sorted(Runtime.get().operator_registry.operator_names):
        base, _, overload = name.partition("::")[2].partition(".")
        if name in _LIKE:
            yield f"{name} {_LIKE[name]}"
        elif name.startswith("executorch_prim::") and overload in ("Scalar", "int"):
            operator = _python(base)
            if operator:
                yield f"{name} {operator}"


def _python(base: str) -> str:
    """The function of Python that computes with sizes."""
    if base.startswith("sym_"):
        return "" if base == "sym_ite" else f"torch.{base} a{' b' * (base[4:] in ('max', 'min'))}"
    if base in ("ceil", "trunc"):
        return f"math.{base} a"
    if base == "round":
        return "builtins.round a"
    return f"operator.{base} a" + ("" if base == "neg" else " b")


def _lines() -> Iterator[str]:
    root = Path(next(iter(executorch.__path__)))
    text = (root / "kernels/portable/functions.yaml").read_text()
    portable = {line.split()[-1] for line in text.splitlines() if line.startswith("- op:")}
    registered = {
        name.removeprefix("aten::")
        for name in Runtime.get().operator_registry.operator_names
        if name.startswith("aten::")
    }
    for name in sorted(portable | registered):
        base, _, overload = name.partition(".")
        packet = getattr(torch.ops.aten, base, None)
        if packet is None or (overload or "default") not in packet.overloads():
            continue
        schema = getattr(packet, overload or "default")._schema
        found = _functional(getattr(torch.ops.aten, base.removesuffix("_")), schema)
        if found is not None:
            taken = [a for a in schema.arguments if not a.is_out]
            spelled = [("*" if a.kwarg_only else "") + a.name for a in taken]
            parts = ["aten", base.removesuffix("_"), found.overload_name]
            target = ".".join(filter(None, parts))
            yield " ".join([f"aten::{name}", target, *spelled])


def _functional(packet: Any, schema: Any) -> Any:
    """The schema of the variant that takes the same and writes nothing; of what the written tensor
    tells, it may be asked as well."""
    taken = [_key(a) for a in schema.arguments if not a.is_out]
    others = [getattr(packet, overload)._schema for overload in packet.overloads()]
    others = [other for other in others if not other.is_mutable]
    for told in (frozenset(), _TOLD):
        for other in others:
            if [_key(a) for a in other.arguments if a.name not in told] == taken:
                return other
    return None


def _key(argument: Any) -> tuple[str, str, bool]:
    return argument.name, str(argument.type), argument.kwarg_only


if __name__ == "__main__":
    print(table(), end="")
