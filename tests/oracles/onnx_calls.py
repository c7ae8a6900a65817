"""Random calls of ONNX operators: attributes, inputs and shapes of one node."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto
from spirloom.ir import Array

SPATIAL_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


@dataclass
class Call:
    """A node under construction. Inputs are random arrays; the first is the model's input."""

    choose: random.Random
    inputs: list[Array | None] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    op: str = ""
    outputs: int = 1

    def size(self, low: int = 1, high: int = 9) -> int:
        return self.choose.randint(low, high)

    def shape(self, rank: int, low: int = 1, high: int = 7) -> list[int]:
        return [self.size(low, high) for _ in range(rank)]

    def floats(self, shape: Sequence[int]) -> Array:
        """Normal values, rounded so that sums in different orders are nearly equal."""
        generator = np.random.default_rng(self.choose.getrandbits(32))
        return np.asarray(np.round(generator.normal(0, 2, shape) * 64) / 64, np.float32)

    def ints(self, shape: Sequence[int], low: int, high: int, dtype: Any = np.int64) -> Array:
        generator = np.random.default_rng(self.choose.getrandbits(32))
        return generator.integers(low, high, shape).astype(dtype)

    def maybe(self, **attributes: Any) -> None:
        """Sets each attribute with probability 1/2."""
        self.attributes |= {k: v for k, v in attributes.items() if self.choose.random() < 0.5}


def _window(call: Call, rank: int, dilated: bool = True) -> list[int]:
    """Kernel, strides, dilations and padding of a pool or convolution."""
    choose = call.choose
    kernel = call.shape(rank, 1, 4)
    call.maybe(strides=call.shape(rank, 1, 3))
    if dilated:
        call.maybe(dilations=call.shape(rank, 1, 2))
    auto = choose.choice(SPATIAL_PADS)
    if auto == "NOTSET":
        call.maybe(pads=[choose.randint(0, k - 1) for k in kernel * 2])
    else:
        call.attributes["auto_pad"] = auto
        # Strides beyond the kernel: ONNX Runtime's AveragePool pads by a negative number, its
        # MaxPool refuses to; ONNX's shape inference and TensorFlow do not pad.
        strides = call.attributes.get("strides", [1] * rank)
        if auto.startswith("SAME"):
            call.attributes["strides"] = list(map(min, strides, kernel))
        call.attributes.pop("dilations", None)
    return kernel


def pool(call: Call) -> None:
    rank = call.choose.choice((1, 2, 2, 3))
    call.op = call.choose.choice(("MaxPool", "AveragePool", "LpPool"))
    call.inputs = [call.floats([call.size(1, 2), call.size(1, 3), *call.shape(rank, 7, 10)])]
    call.attributes["kernel_shape"] = _window(call, rank)
    call.maybe(ceil_mode=1)
    if call.op == "AveragePool":
        call.maybe(count_include_pad=1)
    if call.op == "LpPool":
        call.maybe(p=call.choose.choice((1, 2, 3)))


def convolution(call: Call) -> None:
    rank = call.choose.choice((1, 2, 2, 3))
    groups = call.choose.choice((1, 1, 2, 3))
    channels, filters = groups * call.size(1, 3), groups * call.size(1, 3)
    transposed = call.choose.random() < 0.4
    call.op = "ConvTranspose" if transposed else "Conv"
    kernel = _window(call, rank)
    weight = [channels, filters // groups] if transposed else [filters, channels // groups]
    call.inputs = [
        call.floats([call.size(1, 2), channels, *call.shape(rank, 7, 10)]),
        call.floats([*weight, *kernel]),
        call.floats([filters]) if call.choose.random() < 0.5 else None,
    ]
    call.attributes |= {"group": groups, "kernel_shape": kernel}
    if transposed and "auto_pad" not in call.attributes:
        strides = call.attributes.get("strides", [1] * rank)
        call.maybe(output_padding=[call.choose.randint(0, s - 1) for s in strides])


def resize(call: Call) -> None:
    call.op, choose = "Resize", call.choose
    x = call.floats([1, call.size(1, 3), *call.shape(2, 2, 10)])
    mode = choose.choice(("nearest", "linear", "cubic"))
    transform = choose.choice(
        ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
    )
    call.attributes = {"mode": mode, "coordinate_transformation_mode": transform}
    if mode == "nearest":
        names = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
        # The coordinates of ONNX Runtime may be just below an integer.
        between = names[2:] if "half_pixel" in transform else names
        call.attributes["nearest_mode"] = choose.choice(between)
    elif choose.random() < 0.3:
        call.attributes["antialias"] = 1
    scales = [1.0, 1.0, *(choose.choice((0.5, 0.7, 0.9, 1.3, 1.4, 1.5, 2, 3)) for _ in "hw")]
    # ONNX Runtime copies the input if scales leave all sizes unchanged, and with antialias one of
    # them.
    changes = any(int(n * s) != n for n, s in zip(x.shape, scales, strict=True))
    # Rounded scales move the coordinates of symmetric half pixels to either side of a tie.
    ties = mode == "nearest" and transform == "half_pixel_symmetric"
    if choose.random() < 0.5 and changes and "antialias" not in call.attributes and not ties:
        call.inputs = [x, None, np.array(scales, np.float32)]
    else:
        sizes = [*x.shape[:2], *call.shape(2, 2, 14)]
        call.inputs = [x, None, None, np.array(sizes, np.int64)]


def pad(call: Call) -> None:
    call.op = "Pad"
    shape = call.shape(call.choose.choice((2, 3, 4)), 3, 6)
    mode = call.choose.choice(("constant", "edge", "reflect", "wrap"))
    low = -1 if call.choose.random() < 0.3 else 0
    pads = [call.choose.randint(low, 2) for _ in shape * 2]
    call.attributes = {"mode": mode}
    call.inputs = [call.floats(shape), np.array(pads, np.int64)]
    if mode == "constant" and call.choose.random() < 0.5:
        call.inputs.append(np.array(call.choose.choice((-1, 0.5, 7)), np.float32))


def slicing(call: Call) -> None:
    call.op = "Slice"
    shape = call.shape(call.choose.choice((1, 2, 3)), 1, 8)
    axes = sorted(call.choose.sample(range(len(shape)), call.size(1, len(shape))))
    ends = [call.choose.randint(-9, 12) for _ in axes]
    starts = [call.choose.randint(-9, 9) for _ in axes]
    steps = [call.choose.choice((1, 1, 2, 3, -1, -2)) for _ in axes]
    arrays = (starts, ends, axes, steps)
    call.inputs = [call.floats(shape), *(np.array(a, np.int64) for a in arrays)]


def reduction(call: Call) -> None:
    names = "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split()
    call.op = "Reduce" + call.choose.choice(names)
    shape = call.shape(call.choose.choice((1, 2, 3, 4)), 1, 5)
    axes = call.choose.sample(range(-len(shape), 0), call.choose.randint(0, len(shape)))
    x = call.floats(shape)
    call.inputs = [np.abs(x) + 0.5 if call.op == "ReduceLogSum" else x, np.array(axes, np.int64)]
    call.maybe(keepdims=0, noop_with_empty_axes=1)


def scan(call: Call) -> None:
    call.op = "CumSum"
    shape = call.shape(call.choose.choice((1, 2, 3)))
    axis = call.choose.randrange(-len(shape), len(shape))
    call.inputs = [call.floats(shape), np.array(axis, np.int64)]
    call.maybe(exclusive=1, reverse=1)


UNARY = (
    "Abs Neg Exp Log Sqrt Sigmoid Tanh Relu Erf Floor Ceil Round Sign Sin Cos Tan Atan Sinh Cosh "
    "Softplus Softsign Reciprocal HardSwish Mish Not IsNaN"
).split()
PARAMETRIC = {"Elu": "alpha", "Selu": "gamma", "Celu": "alpha", "LeakyRelu": "alpha",
              "ThresholdedRelu": "alpha", "HardSigmoid": "beta"}  # fmt: skip


def unary(call: Call) -> None:
    call.op = call.choose.choice([*UNARY, *PARAMETRIC])
    x = call.floats(call.shape(call.choose.choice((0, 1, 2, 3))))
    if call.op in ("Log", "Sqrt"):
        x = np.abs(x) + np.float32(0.25)
    if call.op == "Reciprocal":
        x = np.where(x == 0, np.float32(1), x)
    if call.op in PARAMETRIC:
        call.maybe(**{PARAMETRIC[call.op]: call.choose.choice((0.1, 0.5, 1.5))})
    call.inputs = [x > 0 if call.op == "Not" else x]


BINARY = "Add Sub Mul Div Pow Max Min Less Greater Equal LessOrEqual Mod And Or Xor PRelu".split()


def binary(call: Call) -> None:
    call.op = call.choose.choice(BINARY)
    shape = call.shape(call.choose.choice((1, 2, 3)))
    other = [1 if call.choose.random() < 0.3 else n for n in shape][call.choose.choice((0, 0, 1)) :]
    integers = call.choose.random() < 0.4 and call.op not in ("Pow", "PRelu")
    if call.op in ("And", "Or", "Xor"):
        call.inputs = [call.floats(shape) > 0, call.floats(other) > 0]
    elif integers or call.op == "Mod":
        b = call.ints(other, -5, 6, np.int32)
        call.inputs = [call.ints(shape, -9, 10, np.int32), np.where(b == 0, 3, b).astype(np.int32)]
    else:
        a, b = call.floats(shape), call.floats(other)
        b = np.where(b == 0, np.float32(1), b) if call.op == "Div" else b
        call.inputs = [np.abs(a) + 1 if call.op == "Pow" else a, b]


def product(call: Call) -> None:
    m, k, n = call.shape(3)
    if call.choose.random() < 0.5:
        call.op = "Gemm"
        call.maybe(transA=1, transB=1, alpha=0.5, beta=2.0)
        a, b = ((m, k), (k, n))
        a = a[::-1] if call.attributes.get("transA") else a
        b = b[::-1] if call.attributes.get("transB") else b
        shapes: list[list[int] | None] = [None, [n], [m, 1], [1, n], [m, n], []]
        c = call.choose.choice(shapes)
        bias = None if c is None else call.floats(c)
        call.inputs = [call.floats(a), call.floats(b), bias]
    else:
        call.op = "MatMul"
        batch = call.shape(call.choose.choice((0, 1, 2)), 1, 3)
        other = [1 if call.choose.random() < 0.3 else d for d in batch]
        other = other[call.choose.randint(0, len(other)) :]
        call.inputs = [call.floats([*batch, m, k]), call.floats([*other, k, n])]


NORMALIZATIONS = (
    "Softmax LogSoftmax LayerNormalization InstanceNormalization GroupNormalization "
    "LpNormalization Hardmax"
).split()
ARRANGEMENTS = (
    "Transpose Concat Split Tile Expand DepthToSpace SpaceToDepth Flatten Trilu Reshape Squeeze "
    "OneHot"
).split()


def normalization(call: Call) -> None:
    call.op = call.choose.choice(NORMALIZATIONS)
    shape = call.shape(call.choose.choice((3, 4)), 2, 6)
    axis = call.choose.randrange(-len(shape), len(shape))
    if call.op == "LayerNormalization":
        rest = shape[axis:]
        call.inputs = [call.floats(shape), call.floats(rest), call.floats(rest)]
        call.attributes["axis"] = axis
        call.maybe(epsilon=0.01)
    elif call.op in ("InstanceNormalization", "GroupNormalization"):
        groups = 2 if call.op == "GroupNormalization" else 1
        shape[1] *= groups
        call.inputs = [call.floats(shape), call.floats([shape[1]]), call.floats([shape[1]])]
        call.attributes = {"num_groups": groups} if groups > 1 else {}
        call.maybe(epsilon=0.01)
    else:
        call.inputs = [call.floats(shape)]
        call.attributes["axis"] = axis


def indexing(call: Call) -> None:
    call.op = call.choose.choice(("Gather", "GatherElements", "GatherND", "ScatterElements"))
    shape = call.shape(call.choose.choice((1, 2, 3)), 2, 6)
    axis = call.choose.randrange(-len(shape), len(shape))
    n = shape[axis]
    x = call.floats(shape)
    if call.op == "Gather":
        call.inputs = [x, call.ints(call.shape(call.choose.choice((0, 1, 2))), -n, n)]
    elif call.op == "GatherND":
        index = [call.ints([call.size(), 1], 0, size) for size in shape[: call.size(1, len(shape))]]
        count = min(len(part) for part in index)
        call.inputs = [x, np.concatenate([part[:count] for part in index], axis=1)]
        return
    elif call.op == "GatherElements":
        call.inputs = [x, call.ints(shape, -n, n)]
    else:
        order = np.argsort(call.floats(shape), axis=axis)
        call.inputs = [x, order.astype(np.int64), call.floats(shape)]
        call.maybe(reduction=call.choose.choice(("add", "mul", "max", "min")))
    call.attributes["axis"] = axis


def arrangement(call: Call) -> None:
    call.op = call.choose.choice(ARRANGEMENTS)
    shape = call.shape(3, 1, 4)
    x = call.floats(shape)
    call.inputs = [x]
    if call.op == "Transpose":
        call.attributes["perm"] = call.choose.sample(range(3), 3)
    elif call.op == "Concat":
        axis = call.choose.randrange(-3, 3)
        other = list(shape)
        other[axis] = call.size(1, 3)
        call.inputs.append(call.floats(other))
        call.attributes["axis"] = axis
    elif call.op == "Split":
        axis = call.choose.randrange(-3, 3)
        shape[axis] += 2
        call.inputs = [call.floats(shape), np.array([shape[axis] - 1, 1], np.int64)]
        call.attributes["axis"] = axis
        call.outputs = 2
    elif call.op == "Tile":
        call.inputs.append(call.ints([3], 1, 4))
    elif call.op == "Expand":
        call.inputs = [call.floats([1, *shape[1:]]), np.array([4, *shape], np.int64)]
    elif call.op in ("DepthToSpace", "SpaceToDepth"):
        call.inputs = [call.floats([1, 4 * call.size(1, 2), 4, 6])]
        call.attributes["blocksize"] = 2
        if call.op == "DepthToSpace":
            call.maybe(mode="CRD")
    elif call.op == "Flatten":
        call.attributes["axis"] = call.choose.randrange(-3, 4)
    elif call.op == "Trilu":
        call.inputs.append(np.array(call.choose.randint(-4, 4), np.int64))
        call.maybe(upper=0)
    elif call.op == "Reshape":
        call.inputs.append(np.array(call.choose.choice(([-1], [0, -1], [0, 0, 0, 1])), np.int64))
    elif call.op == "Squeeze":
        call.inputs = [call.floats([1, *shape, 1]), np.array([0, -1], np.int64)]
    else:
        depth = call.size(2, 5)
        values = np.array([-1, 3], np.float32)
        call.inputs = [call.ints(shape[:2], -depth, depth), np.array(depth, np.int64), values]
        call.attributes["axis"] = call.choose.randrange(-3, 3)


def quantization(call: Call) -> None:
    shape, axis = call.shape(3, 1, 5), call.choose.randrange(3)
    per_axis = call.choose.random() < 0.5
    scale = np.abs(call.floats([shape[axis]] if per_axis else [])) + np.float32(0.05)
    dtype = call.choose.choice((np.int8, np.uint8))
    low = -20 if dtype is np.int8 else 0
    zero = call.ints(scale.shape, low, 20, dtype) if call.choose.random() < 0.6 else None
    call.op = call.choose.choice(("QuantizeLinear", "DequantizeLinear"))
    if call.op == "QuantizeLinear":
        call.inputs = [call.floats(shape) * 3, scale, zero]
        if zero is None:
            call.maybe(output_dtype=call.choose.choice((TensorProto.INT8, TensorProto.UINT8)))
    else:
        call.inputs = [call.ints(shape, low, 100, dtype), scale, zero]
    if per_axis:
        call.attributes["axis"] = axis


def selection(call: Call) -> None:
    call.op = call.choose.choice(("ArgMax", "ArgMin", "TopK", "Where", "Clip", "Cast", "Einsum"))
    shape = call.shape(3, 1, 6)
    axis = call.choose.randrange(-3, 3)
    distinct = np.random.default_rng(call.choose.getrandbits(32)).permutation(np.prod(shape))
    x = distinct.reshape(shape).astype(np.float32) - np.float32(np.prod(shape) // 2)
    call.inputs = [x]
    if call.op in ("ArgMax", "ArgMin"):
        call.attributes["axis"] = axis
        call.maybe(keepdims=0, select_last_index=1)
    elif call.op == "TopK":
        call.inputs.append(np.array([call.size(1, shape[axis])], np.int64))
        call.attributes["axis"] = axis
        call.maybe(largest=0)
        call.outputs = 2
    elif call.op == "Where":
        call.inputs = [x > 0, call.floats(shape[1:]), call.floats([])]
    elif call.op == "Clip":
        bounds = [np.array(bound, np.float32) for bound in (-1, 2)]
        call.inputs += [b if call.choose.random() < 0.7 else None for b in bounds]
    elif call.op == "Cast":
        targets = (TensorProto.INT32, TensorProto.BOOL, TensorProto.INT64, TensorProto.FLOAT)
        call.attributes["to"] = call.choose.choice(targets)
    else:
        call.inputs = [call.floats(shape), call.floats([shape[2], 4])]
        call.attributes["equation"] = call.choose.choice(("abc,cd->abd", "abc,cd->ad", "abc,cd->b"))


KINDS: tuple[Callable[[Call], None], ...] = (
    pool, convolution, resize, pad, slicing, reduction, scan, unary, binary, product, normalization,
    indexing, arrangement, quantization, selection,
)  # fmt: skip
