"""1-D convolutions as 2-D ones, which have matrix kernels and fuse with more operators."""

from __future__ import annotations

from typing import TypeGuard, cast

from spec_model.traits import Trait
from spirloom.ir import Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.data_movement import VIEW, are_known, call
from spirloom.passes.rewrite import Matcher

CONVOLUTION_1D, CONVOLUTION = "aten.conv1d", "aten.convolution"
BATCH_NORM = "aten._native_batch_norm_legit_no_training"


def convolve_2d(graph: Graph, library: OpLibrary) -> None:
    """Replaces `conv1d` without groups by a convolution of images of one row.

    Batch normalization and operators of one tensor that follow compute on the images too, so that
    they can be fused. Grouped convolutions keep their kernels.
    """
    matcher = Matcher(graph)
    made: list[Node] = []
    images: dict[Tensor, Tensor] = {}  # result of a 1-D operator → the same as images
    for node in graph.nodes:
        if _is_dense(node, library):
            made += _convolution(node, library, images)
        elif _keeps_images(node, library) and library.arg(node, "x") in images:
            made += _of_images(node, library, images)
        else:
            made.append(node)
            continue
        result = node.outputs[0]
        reader = matcher.reader(result)
        if not _keeps_images(reader, library) or library.arg(reader, "x") is not result:
            made.append(_view(library, images[result], result))
    graph.nodes = made


def _is_dense(node: Node, library: OpLibrary) -> bool:
    """Whether the node is a 1-D convolution without groups, of known sizes."""
    if node.op != CONVOLUTION_1D or library.arg(node, "groups") != 1:
        return False
    return are_known(*node.inputs(), *node.outputs)


def _keeps_images(node: Node | None, library: OpLibrary) -> TypeGuard[Node]:
    """Whether an operator computes on images as it does on their rows: batch normalization,
    operators of a single tensor that compute each element from the one at its index, and views that
    keep the batch and the channels."""
    if node is None or len(node.outputs) != 1 or not library.has_arg(node.op, "x"):
        return False
    x, y = library.arg(node, "x"), node.outputs[0]
    if not isinstance(x, Tensor) or not are_known(x, y) or len(y.shape) < 3:
        return False
    if node.op == VIEW:
        return x.shape[:2] == y.shape[:2]
    args = library.named_args(node)
    is_unary = library.has_trait(node.op, Trait.ELEMENTWISE, args) and len([*node.inputs()]) == 1
    return is_unary or node.op == BATCH_NORM


def _convolution(node: Node, library: OpLibrary, images: dict[Tensor, Tensor]) -> list[Node]:
    """The views of the arguments, and the convolution."""
    x, weight = library.arg(node, "x"), library.arg(node, "weight")
    assert isinstance(x, Tensor) and isinstance(weight, Tensor)
    nodes = []
    for tensor in (x, weight):
        if tensor in images:
            continue
        images[tensor] = _image(tensor)
        if tensor.values is not None:
            continue
        nodes.append(_view(library, tensor, images[tensor]))
    stride, padding, dilation = (
        (before, *cast(tuple[int, ...], library.arg(node, name)))
        for name, before in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    args = call(
        library, CONVOLUTION, x=images[x], weight=images[weight], bias=library.arg(node, "bias"),
        stride=stride, padding=padding, dilation=dilation,
    )  # fmt: skip
    y = images[node.outputs[0]] = _image(node.outputs[0])
    return [*nodes, Node(CONVOLUTION, args, (y,), node.name)]


def _of_images(node: Node, library: OpLibrary, images: dict[Tensor, Tensor]) -> list[Node]:
    """The node that computes on images; none for a view."""
    x, y = library.arg(node, "x"), node.outputs[0]
    assert isinstance(x, Tensor)
    if node.op == VIEW:
        images[y] = images[x]
        return []
    images[y] = Tensor(f"{y.name}_image", y.dtype, images[x].shape)
    return [Node(node.op, library.with_args(node, x=images[x]), (images[y],), node.name)]


def _image(tensor: Tensor) -> Tensor:
    """The tensor [N, C, L] as [N, C, 1, L]. A constant has the same elements."""
    batch, channels, length = tensor.shape
    image = Tensor(f"{tensor.name}_image", tensor.dtype, (batch, channels, 1, length))
    if tensor.data is not None:
        image.values = tensor.data.reshape(image.shape)
    return image


def _view(library: OpLibrary, x: Tensor, y: Tensor) -> Node:
    return Node(VIEW, call(library, VIEW, x=x, size=y.shape), (y,), f"{y.name}_view")
