"""How PyTorch lays out values in memory; the device's are always dense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spirloom.errors import Unsupported
from spirloom.torch.program import Call, Program, Ref
from spirloom.torch.size_of import BadSize, SizeOf


def is_dense(sizes: Sequence[int], strides: Sequence[int], start: int) -> bool:
    """Whether the elements follow each other in order, from the memory's beginning."""
    count = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1 and stride != count:
            return 0 in sizes
        count *= size
    return start == 0


def refuse_other_layouts(call: Call, program: Program, sizes: Mapping[str, int]) -> None:
    """Refuses a call that sees memory as it lies, where the device's lies in another way."""
    given = call.arguments[0].value if call.arguments else None
    meta = program.metas.get(given.name) if isinstance(given, Ref) else None
    if meta is None or not isinstance(given, Ref):
        return
    try:
        shape, strides = (tuple(_at(n, sizes) for n in ns) for ns in (meta.shape, meta.strides))
        dense = is_dense(shape, strides, _at(meta.start, sizes))
    except BadSize:
        dense = False
    if not dense:
        raise Unsupported(f"it depends on how PyTorch lays out '{given.name}', which is not dense")


def _at(size: int | SizeOf, sizes: Mapping[str, int]) -> int:
    return size.value(sizes) if isinstance(size, SizeOf) else size
