"""Runs one case, from the module to the comparison."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

import spirloom.executorch
import torch
from executorch.exir import EdgeCompileConfig

from tests.executorch.programs import Inputs, Lowered, load, run
from tests.executorch.suite.cases import Call, Case, module_of
from tests.executorch.suite.columns import Column, rounded
from tests.executorch.suite.outcome import Kind, Outcome

# The suites contain operators outside of the core ATen set.
_CONFIG = EdgeCompileConfig(_check_ir_validity=False)


class _Reasons(logging.Handler):
    """Collects the reasons for skipped nodes from the partitioner's log."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        match = re.search(r"Due to \[(.*?)\], skipping", record.getMessage(), re.DOTALL)
        if match:
            self.found.append(match[1].split("(")[0].strip())


def attempt(case: Case, column: Column) -> Outcome:
    """Lowers, runs and compares the case."""
    module = prepared(case, column)
    inputs = tuple(module.inputs)
    try:
        reference(module, inputs, column)
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:
        return Outcome(Kind.OTHER, f"PyTorch: {_first_line(error)}")
    reasons = _Reasons()
    root = logging.getLogger()
    level = root.level
    root.addHandler(reasons)
    root.setLevel(logging.INFO)
    try:
        program = lowered(module, inputs, column)
    except Exception as error:  # any exception of the exporter is an outcome
        return Outcome(Kind.OTHER, f"not exported: {_first_line(error)}")
    finally:
        root.setLevel(level)
        root.removeHandler(reasons)
    if program.delegates == 0:
        return Outcome(
            Kind.NOT_DELEGATED, ", ".join(sorted(set(reasons.found))) or "the module has no nodes"
        )
    return _run(case, column, module, inputs, program)


def prepared(case: Case, column: Column) -> Call:
    """The case's module, with values rounded as the column requires."""
    module = module_of(case)
    module.eval()
    if column is Column.FORCED:
        module.inputs = list(map(rounded, module.inputs))
        for name, weight in module.named_buffers():
            module.register_buffer(name, rounded(weight))
    return module


def lowered(module: torch.nn.Module, inputs: Inputs, column: Column) -> Lowered:
    """With dynamic shapes, each size above 1 is a maximum; PyTorch specializes unsupported ones."""
    sizes = None
    if column is Column.DYNAMIC and inputs:
        dim = torch.export.Dim
        every = [{d: dim.AUTO(max=n) for d, n in enumerate(x.shape) if n > 1} for x in inputs]
        sizes = (tuple(every),)
    return Lowered(module, inputs, sizes, _CONFIG, **column.options)


def _run(case: Case, column: Column, module: Call, inputs: Inputs, program: Lowered) -> Outcome:
    try:
        method = load(program.buffer)
        for each in [inputs, *smaller(module, program, inputs)]:
            expected = reference(module, each, column)
            found = difference(run(method, each), expected, tolerances(case, column))
            if found:
                sizes = [list(x.shape) for x in each]
                return Outcome(Kind.WRONG, f"{found} (inputs {sizes})")
    except RuntimeError as error:
        ours = spirloom.executorch.last_error()
        if ours:
            return Outcome(Kind.REJECTED, ours)
        return Outcome(Kind.OTHER, f"ExecuTorch: {_first_line(error)}")
    return Outcome(Kind.PASSES)


def tolerances(case: Case, column: Column) -> tuple[float, float]:
    """rtol, atol."""
    return (1e-2, 1e-2) if column is Column.FORCED else case.tolerances


def reference(module: torch.nn.Module, inputs: Inputs, column: Column) -> list[torch.Tensor]:
    """PyTorch's results."""
    with torch.no_grad():
        found = module(*inputs)
    tensors = list(found) if isinstance(found, tuple | list) else [found]
    return list(map(rounded, tensors)) if column is Column.FORCED else tensors


def smaller(module: torch.nn.Module, program: Lowered, inputs: Inputs) -> list[Inputs]:
    """The inputs cut to about half of each dynamic size; empty without any or if PyTorch fails."""
    ranges = program.exported.range_constraints
    values = {s: int(r.lower + (r.upper - r.lower) // 2) for s, r in ranges.items()}
    cut: list[torch.Tensor] = []
    for x, shape in zip(inputs, program.input_shapes, strict=True):
        sizes = [n if isinstance(n, int) else int(n.node.expr.subs(values)) for n in shape]
        # contiguous() does not change the strides of empty tensors, on which ExecuTorch crashes.
        part = x[tuple(slice(0, n) for n in sizes)]
        cut.append(part.clone(memory_format=torch.contiguous_format))
    if all(a.shape == b.shape for a, b in zip(cut, inputs, strict=True)):
        return []
    try:
        module(*cut)
    except (RuntimeError, IndexError):
        return []  # indices out of range of the cut input
    return [tuple(cut)]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def difference(
    given: Sequence[torch.Tensor], expected: list[torch.Tensor], allowed: tuple[float, float]
) -> str:
    """A description of the difference; "" if there is none."""
    if len(given) != len(expected):
        return f"{len(given)} results; expected {len(expected)}"
    for i, (ours, theirs) in enumerate(zip(given, expected, strict=True)):
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            return (
                f"result {i} is {ours.dtype} {list(ours.shape)}; expected "
                f"{theirs.dtype} {list(theirs.shape)}"
            )
        rtol, atol = allowed if theirs.is_floating_point() else (0.0, 0.0)
        if not torch.allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True):
            error = (ours.double() - theirs.double()).abs().nan_to_num(torch.inf).max()
            return f"result {i} differs by {error:.3g}"
    return ""
