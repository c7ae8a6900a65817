"""Device tensors and calls of single operators, without models.

    import spirloom

    x = spirloom.tensor([[1, 2], [3, 4]])
    y = spirloom.ops.softmax(x @ x, dim=-1)
    print(y)

A call selects the kernels that a graph with this operator would use, and returns when its
dispatches are recorded; `Tensor.numpy()` waits for them. See the page 'Try an operator' of the
documentation.
"""

from __future__ import annotations

from spirloom.eager.operators import Operator, Operators
from spirloom.eager.signatures import Argument, Signature
from spirloom.eager.tensor import Tensor

__all__ = ["Argument", "Operator", "Operators", "Signature", "Tensor"]
