"""The operators of numbers that compute what layers, sums and means of floats do."""

from __future__ import annotations

from spirloom.ir import Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.integer_operands import Numbers, Operands
from spirloom.passes.integer_tensors import Centres
from spirloom.passes.rewrite import ADD

CONVOLUTION = "spirloom.convolution_i8"
Call = tuple[str, dict[str, object]]
# The layers, whose weights and biases are called the same by both operators.
LAYERS = {
    "aten.convolution": CONVOLUTION, "aten.conv1d": CONVOLUTION, "aten.conv3d": CONVOLUTION,
    "aten.conv_transpose1d": CONVOLUTION, "aten.conv_transpose2d.input": CONVOLUTION,
    "aten.conv_transpose3d.input": CONVOLUTION, "aten.linear": "spirloom.linear_i8",
}  # fmt: skip
_PLACES = ("stride", "padding", "dilation", "output_padding", "groups")
_WINDOWS = ("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
_EVEN = ("aten.adaptive_avg_pool1d", "aten._adaptive_avg_pool2d", "aten._adaptive_avg_pool3d")
_MEAN = "aten.mean.dim"


def _ints(value: object) -> tuple[int, ...]:
    assert isinstance(value, tuple)
    return value


class Calls:
    """Finds such calls, without the args of their results."""

    def __init__(self, operands: Operands, centres: Centres, library: OpLibrary) -> None:
        self._operands, self._centres, self._library = operands, centres, library

    def of(self, node: Node) -> Call | None:
        """What computes a node with numbers, if that is known."""
        if node.op in LAYERS:
            return self.layer(node)
        return self._sum(node) if node.op == ADD else self._mean(node)

    def rescaled(self, x: Numbers) -> Call:
        """Numbers in another scale."""
        return "spirloom.rescale_i8", self._term("a", x)

    def layer(self, node: Node) -> Call | None:
        """A convolution or a linear layer."""
        names = self._library.arg_names(node.op)
        given = {name: self._library.arg(node, name) for name in names}
        transposed = "transpose" in node.op
        x = self._operands.operand(given["x"])
        groups = given.get("groups", 1) if transposed else None
        weight = self._operands.filters(given["weight"], groups)
        bias = given["bias"]
        known = self._operands.known(bias)
        if given.get("activation") or given.get("addend") or x is None or weight is None:
            return None
        if bias is not None and known is None:
            return None
        places: dict[str, object] = {name: given[name] for name in _PLACES if name in given}
        if transposed:
            places["transposed"] = True
        args: dict[str, object] = {**self._term("x", x), **weight.arguments(), "bias": known}
        return LAYERS[node.op], {**args, **places}

    def _sum(self, node: Node) -> Call | None:
        if not self._library.is_plain(node):
            return None
        a, b = (self._operands.operand(value) for value in node.args[:2])
        if a is None or b is None or a.tensor.shape != b.tensor.shape:
            return None
        return "spirloom.add_i8", {**self._term("a", a), **self._term("b", b)}

    def _mean(self, node: Node) -> Call | None:
        """A mean of windows, or over the last dims."""
        x = self._operands.operand(node.args[0]) if node.args else None
        window = self._window(node, x.tensor.shape) if x is not None else None
        if x is None or window is None:
            return None
        return "spirloom.average_pool_i8", {**self._term("x", x), **window}

    def _window(self, node: Node, shape: tuple[int, ...]) -> dict[str, object] | None:
        given = dict(zip(self._library.arg_names(node.op), node.args, strict=True))
        if node.op in _WINDOWS:
            return {name: value for name, value in given.items() if name != "x"}
        if node.op in _EVEN:
            out = _ints(given["output_size"])
            size = shape[len(shape) - len(out) :]
            if any(m < 1 or n % m for n, m in zip(size, out, strict=True)):
                return None
            window = tuple(n // m for n, m in zip(size, out, strict=True))
        elif node.op == _MEAN:
            found = sorted(d % len(shape) for d in _ints(given["dim"]))
            if not found or found != [*range(len(shape) - len(found), len(shape))]:
                return None
            window = shape[found[0] :]
        else:
            return None
        return {"kernel_size": window, "padding": (0,) * len(window)}

    def _term(self, name: str, x: Numbers) -> dict[str, object]:
        tensor: Tensor = self._centres.centre(x)
        return {name: tensor, f"{name}_scale": x.scale, f"{name}_zero": x.centred_zero}
