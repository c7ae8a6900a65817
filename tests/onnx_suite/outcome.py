"""The outcome of each case of the suite: a graph with data, or a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np
from spirloom import graph_file
from spirloom.casegen.case_pack import Case, NamedArray
from spirloom.ir import Array, DType, Graph, Storage
from spirloom.op_library import OpLibrary

from spec_model.spec import Tolerance
from spec_model.stored_float import encoded, float_format
from tests.onnx_suite.attempt import Imported, Rejected, attempt, reject_other_values
from tests.onnx_suite.suite import DataSet, SuiteCase, read_suite, suite_version

# The tolerance of ONNX's backend tests.
TOLERANCE = Tolerance(rtol=1e-3, atol=1e-7)
EXACT = Tolerance(rtol=0, atol=0)
# Cases whose expected outputs contradict the operator's text, PyTorch and ONNX Runtime.
_LENGTH = "ONNX's case uses the length before rounding down; PyTorch and ONNX Runtime do not"
_TRUNCATED = "ONNX 1.12 rounds its case toward zero; later versions and ONNX Runtime to nearest"
DISPUTED = {
    "node/test_cast_FLOAT_to_BFLOAT16": _TRUNCATED,
    "node/test_resize_downsample_scales_cubic_align_corners": _LENGTH,
    "node/test_resize_downsample_scales_linear_align_corners": _LENGTH,
}
if suite_version() != "1.12":  # found in 1.17, the next version that was tested
    _CAST = "the case rounds toward zero; ONNX's text and ONNX Runtime to nearest"
    _WRAPPED = "the case wraps -236 to 20; the operator's text saturates"
    _ZERO_NORM = "the case expects 0 / 0 where the norm is 0; ONNX's text and ONNX Runtime give 0"
    _NOISE = "the case expects rounding errors of float32 above ONNX's tolerance in place of 0"
    DISPUTED |= {
        "node/test_castlike_FLOAT_to_BFLOAT16": _CAST,
        "node/test_castlike_FLOAT_to_BFLOAT16_expanded": _CAST,
        "node/test_dft_inverse": _NOISE,
        "node/test_dft_inverse_opset19": _NOISE,
        "node/test_l2normalization_axis_0": _ZERO_NORM,
        "node/test_qlinearmatmul_2D_int8_float16": _WRAPPED,
        "node/test_qlinearmatmul_2D_int8_float32": _WRAPPED,
        "node/test_qlinearmatmul_3D_int8_float16": _WRAPPED,
        "node/test_qlinearmatmul_3D_int8_float32": _WRAPPED,
    }


class Kind(StrEnum):
    """The kind of an outcome."""

    RUNS = "runs"
    FIXED = "runs with constant inputs"
    FOLDED = "computed at import"
    ROUNDED = "float64 as float32"
    UNSUPPORTED = "unsupported"

    @property
    def passes(self) -> bool:
        return self is not Kind.UNSUPPORTED


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a case. `detail` is the list of constant inputs, or the reason."""

    group: str
    name: str
    operator: str
    kind: Kind
    detail: str
    runs: tuple[Case, ...] = ()

    @property
    def id(self) -> str:
        return f"{self.group}/{self.name}"


def outcomes(root: Path, library: OpLibrary) -> Iterator[Outcome]:
    """The outcome of every case, in order."""
    for case in read_suite(root):
        yield _outcome(case, library)


def _outcome(case: SuiteCase, library: OpLibrary) -> Outcome:
    base = Outcome(case.group, case.name, case.operator, Kind.UNSUPPORTED, "")
    rejected = reject_other_values(case)
    if rejected is not None:
        return replace(base, detail=rejected.reason)
    if base.id in DISPUTED:
        return replace(base, detail=DISPUTED[base.id])
    runs: list[Case] = []
    fixed: tuple[str, ...] = ()
    rounded = False
    for index, data in enumerate(case.data_sets()):
        result = attempt(case, data.inputs, library)
        if isinstance(result, Rejected):
            return replace(base, detail=result.reason)
        contradiction = _contradiction(case, data, result.graph)
        if contradiction is not None:
            return replace(base, detail=contradiction)
        fixed = max(fixed, result.fixed, key=len)
        rounded |= result.rounded
        runs += _runs(case, index, data, result)
    kind = Kind.ROUNDED if rounded else _kind(case, fixed)
    return replace(base, kind=kind, detail=", ".join(fixed), runs=tuple(runs))


def _contradiction(case: SuiteCase, data: DataSet, graph: Graph) -> str | None:
    """An input whose data do not have the shape that the model declares."""
    values = dict(zip((info.name for info in case.inputs), data.inputs, strict=True))
    for tensor in graph.inputs:
        declared, given = list(tensor.shape), list(values[tensor.name].shape)
        if given != declared:
            return f"the model declares {declared} for '{tensor.name}'; the data have {given}"
    return None


def _kind(case: SuiteCase, fixed: tuple[str, ...]) -> Kind:
    if not fixed:
        return Kind.RUNS
    return Kind.FOLDED if len(fixed) == len(case.inputs) else Kind.FIXED


def _runs(case: SuiteCase, index: int, data: DataSet, imported: Imported) -> Iterator[Case]:
    """The runs of one data set, in each storage."""
    graph = imported.graph
    values = dict(zip((info.name for info in case.inputs), data.inputs, strict=True))
    outputs = dict(zip((info.name for info in case.model.graph.output), data.outputs, strict=True))
    inputs = tuple(_array(t.name, t.dtype, values[t.name]) for t in graph.inputs)
    expected = tuple(_array(t.name, t.dtype, outputs[t.name]) for t in graph.outputs)
    packed = graph_file.to_bytes(graph)
    for storage in Storage:
        yield Case(
            id=f"{case.group}/{case.name}/{index}/{storage}",
            op=_operators(graph),
            variant=None,
            kernel=None,
            storage=storage,
            graph=packed,
            inputs=inputs,
            expected=expected,
            tolerances=tuple(TOLERANCE if t.dtype.is_float else EXACT for t in graph.outputs),
        )


def _operators(graph: Graph) -> str:
    return " ".join(dict.fromkeys(node.op for node in graph.nodes))


def _array(name: str, dtype: DType, values: Array) -> NamedArray:
    """The suite's values in the dtype of the graph. Integers must be exact.

    The suite stores bfloat16 as the bits, in uint16.
    """
    if float_format(dtype) is not None:
        bits = values.dtype == np.uint16
        codes = values.view(dtype.numpy) if bits else encoded(values.astype(np.float32), dtype)
        return NamedArray(name, dtype, np.ascontiguousarray(codes).reshape(values.shape))
    with np.errstate(over="ignore"):
        typed = np.ascontiguousarray(values, dtype=dtype.numpy).reshape(values.shape)
    if typed.dtype.kind != "f" and not np.array_equal(typed, values):
        raise ValueError(f"{name}: {values.dtype} values do not fit {dtype}")
    return NamedArray(name, dtype, typed)
