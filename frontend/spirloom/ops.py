"""The operators of the default runtime, as functions of tensors.

    import spirloom

    x = spirloom.tensor([[1.0, 2.0]])
    y = spirloom.ops.softmax(x, dim=-1)

`dir(spirloom.ops)` lists them. Those of other libraries: Runtime.ops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spirloom.eager import Operator


def __getattr__(name: str) -> Operator:
    from spirloom.runtime import default_runtime

    if name.startswith("__"):
        raise AttributeError(f"module 'spirloom.ops' has no attribute '{name}'")
    found: Operator = getattr(default_runtime().ops, name)
    return found


def __dir__() -> list[str]:
    from spirloom.runtime import default_runtime

    return sorted(default_runtime().ops)
