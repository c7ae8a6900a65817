"""What the C++ templates ask of an op."""

from __future__ import annotations

from codegen.cpp.code import Local, code, locals_of
from codegen.cpp.kernel_code import KernelCode
from codegen.expr.emit import CPP_TYPES, quoted
from codegen.expr.types import Origin, names_of
from codegen.op import Op
from codegen.spec import ArgType, Check, Let, dtype_source

_ARG_TYPES = {
    ArgType.TENSOR: "kTensor",
    ArgType.TENSORS: "kTensorList",
    ArgType.INT: "kInt",
    ArgType.FLOAT: "kFloat",
    ArgType.BOOL: "kBool",
    ArgType.INTS: "kInts",
    ArgType.STR: "kString",
}


class OpCode:
    """What templates ask of an op."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self.name, self.short_name = op.name, op.short_name
        self.namespace = f"op_{op.short_name}"
        self.source = op.position.file
        self.args = [
            {"name": arg.name, "type": _ARG_TYPES[arg.type], "optional": arg.optional}
            for arg in op.args
        ]
        self.output_count = len(op.outputs)
        self.view_of = -1 if op.view_of is None else op.view_of

    @property
    def kernels(self) -> list[KernelCode]:
        """The kernels in order of preference."""
        return [KernelCode(self._op, kernel) for kernel in self._op.kernels]

    @property
    def kernel_count(self) -> int:
        """How many there are."""
        return len(self._op.kernels)

    @property
    def infer_args(self) -> list[Local]:
        """The args that shape inference reads."""
        op = self._op
        steps = [step.value if isinstance(step, Let) else step.condition for step in op.steps]
        formulas = [formula for output in op.outputs for formula in (output.shape, output.dtype)]
        used = set(names_of(*steps, *formulas))
        used |= {arg.name for arg in op.args if arg.length is not None}
        used |= {row["name"] for row in self.dtype_checks}
        source = dtype_source(op.args)
        if source is not None and any(row["follows"] for row in self.dtype_checks):
            used.add(source.name)
        return [local for local in locals_of(op, used) if local.origin == Origin.ARG]

    @property
    def lengths(self) -> list[dict[str, object]]:
        """The args with a fixed number of ints."""
        return [
            {"name": arg.name, "arg": f"arg_{arg.name}", "count": arg.length}
            for arg in self._op.args
            if arg.length is not None
        ]

    @property
    def dtype_checks(self) -> list[dict[str, str]]:
        """What every tensor's dtype must be: a constant or that of the first."""
        source = dtype_source(self._op.args)
        rows = []
        for arg in self._op.args:
            if not arg.type.is_tensor or arg.any_dtype:
                continue
            wanted = follows = ""
            if arg.dtype is not None:
                wanted = f"DType::k{arg.dtype.upper()}"
            elif source is not None and (arg is not source or arg.type is ArgType.TENSORS):
                first = follows = f"arg_{source.name}"
                is_list = source.type is ArgType.TENSORS
                wanted = f"eval.At({first}, 0).dtype" if is_list else f"{first}.dtype"
            if wanted:
                rows.append(
                    {
                        "name": arg.name,
                        "arg": f"arg_{arg.name}",
                        "kind": "list" if arg.type is ArgType.TENSORS else "tensor",
                        "wanted": wanted,
                        "follows": follows,
                    }
                )
        return rows

    @property
    def steps(self) -> list[dict[str, str]]:
        """Lets and checks in order."""
        return [_step(step) for step in self._op.steps]

    @property
    def outputs(self) -> list[dict[str, str]]:
        """The outputs' formulas."""
        return [{"dtype": code(y.dtype), "shape": code(y.shape)} for y in self._op.outputs]


def _step(step: Let | Check) -> dict[str, str]:
    if isinstance(step, Let):
        value = step.value
        return {
            "type": CPP_TYPES[value.kind],
            "name": f"let_{step.name}",
            "value": code(value),
            "text": "",
        }
    sides = [code(side) for side in step.sides] if step.sides else ["", ""]
    return {
        "type": "",
        "text": quoted(step.text),
        "value": code(step.condition),
        "left": sides[0],
        "right": sides[1],
    }
