"""Describes a program as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from spec_model.flatbuffer import NOTHING, MalformedBuffer, Member, Row
from spirloom.errors import ImportFailure, Unsupported
from spirloom.pte.delegate import DelegateReader
from spirloom.pte.file import ProgramFile
from spirloom.pte.graph_delegate import graph_of
from spirloom.pte.kernel_calls import ProgramDraft
from spirloom.pte.method import SPIRLOOM, VULKAN, constant_names, instructions, state_names
from spirloom.terminal import bytes_text, shown
from spirloom.torch.values import scalar_type

_DYNAMISM = ("fixed", "bounded", "unbounded")


def describe(file: ProgramFile) -> dict[str, Any]:
    """The description as JSON values; sizes in bytes. Raises ImportFailure."""
    try:
        return _described(file)
    except MalformedBuffer as error:
        raise ImportFailure(f"{file.path} is damaged: {error}.") from None


def _described(file: ProgramFile) -> dict[str, Any]:
    named = [row["key"] for row in file.program["named_data"]]
    return {
        "bytes": file.size,
        "methods": [_method(file, method) for method in file.program["methods"]],
        "named_data": {"count": len(named), "bytes": sum(len(file.named(k) or b"") for k in named)},
        "cases": {suite["method"]: len(suite["cases"]) for suite in file.cases},
    }


def _method(file: ProgramFile, method: Row) -> dict[str, Any]:
    values = [row["value"] or NOTHING for row in method["values"]]
    actions = [row["action"] or NOTHING for row in instructions(method)]
    called = [row["operator"] for kind, row in actions if kind == "KernelCall"]
    operators = method["operators"]
    if any(not 0 <= index < len(operators) for index in called):
        raise MalformedBuffer(f"the operator index of a call is out of range of {len(operators)}")
    used = Counter(_operator(operators[index]) for index in called)
    return {
        "name": method["name"],
        "inputs": [_value(values, index) for index in method["inputs"]],
        "outputs": [_value(values, index) for index in method["outputs"]],
        "instructions": len(actions),
        "kernels": _sorted(used),
        "delegates": [_delegate(file, i, row) for i, row in enumerate(method["delegates"])],
        "constants": constant_names(values),
        "state": state_names(method),
    }


def _operator(row: Row) -> str:
    return str(row["name"]) + (f".{row['overload']}" if row["overload"] else "")


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _value(values: Sequence[Member], index: int) -> dict[str, Any]:
    if not 0 <= index < len(values):
        raise MalformedBuffer(f"value index {index} is out of range of {len(values)}")
    kind, row = values[index]
    if kind != "Tensor":
        return {"kind": kind.lower(), "value": row.get("value")}
    dynamism = row["dynamism"]
    return {
        "kind": "tensor",
        "dtype": scalar_type(row["type"]),
        "shape": list(row["sizes"]),
        "sizes": _DYNAMISM[dynamism] if 0 <= dynamism < len(_DYNAMISM) else str(dynamism),
    }


def _delegate(file: ProgramFile, index: int, row: Row) -> dict[str, Any]:
    data = file.delegate_data(row["processed"])
    facts: dict[str, Any] = {"backend": row["id"], "bytes": len(data)}
    if row["id"] == SPIRLOOM:
        return {**facts, **_graph_facts(data, f"delegate {index}")}
    if row["id"] != VULKAN:
        return facts
    try:
        reader = DelegateReader(data, file.named, f"delegate {index}", ProgramDraft())
        tensors, size = reader.constants()
    except Unsupported as error:
        return {**facts, "problem": str(error)}
    calls = Counter(call["name"].removesuffix(".default") for call in reader.calls)
    facts["operators"] = _sorted(calls)
    facts["constants"] = {"tensors": tensors, "bytes": size}
    facts["state"] = reader.states
    return facts


def _graph_facts(data: memoryview, label: str) -> dict[str, Any]:
    """The facts of a delegate that is a graph file."""
    try:
        graph = graph_of(data, label)
    except Unsupported as error:
        return {"problem": str(error)}
    constants = [tensor for tensor in graph.tensors() if tensor.data is not None]
    return {
        "operators": _sorted(Counter(node.op for node in graph.nodes)),
        "constants": {"tensors": len(constants), "bytes": sum(t.size for t in constants)},
        "state": len(graph.states),
    }


def to_text(file: ProgramFile) -> str:
    """The description as lines of text."""
    facts = describe(file)
    lines = [f"program     {bytes_text(facts['bytes'])} of constants and delegates"]
    if facts["named_data"]["count"]:
        named = facts["named_data"]
        lines.append(f"named data  {named['count']}, {bytes_text(named['bytes'])}")
    for method in facts["methods"]:
        lines += _method_lines(method, facts["cases"].get(method["name"], 0))
    return "\n".join(lines)


def _method_lines(method: dict[str, Any], cases: int) -> Iterable[str]:
    yield f"method      {shown(method['name'])}" + (f", {cases} cases" if cases else "")
    for key in ("inputs", "outputs"):
        for index, value in enumerate(method[key]):
            yield f"  {key[:-1]} {index}  {_shown_value(value)}"
    yield from _counts("kernels", method["kernels"])
    for index, delegate in enumerate(method["delegates"]):
        yield f"  delegate {index}  {shown(delegate['backend'])}, {bytes_text(delegate['bytes'])}"
        if "problem" in delegate:
            yield f"    {shown(delegate['problem'])}"
        for op, count in delegate.get("operators", {}).items():
            yield f"    {count:>4}  {shown(op)}"
        if "constants" in delegate:
            held = delegate["constants"]
            yield f"    {held['tensors']} constants, {bytes_text(held['bytes'])}"
        if delegate.get("state"):
            yield f"    {delegate['state']} mutable buffers"
    if method["constants"]:
        yield f"  constants  {len(method['constants'])}"
    for name in method["state"]:
        yield f"  state  {shown(name)}"


def _counts(label: str, counts: dict[str, int]) -> Iterable[str]:
    if counts:
        yield f"  {label}"
    for name, count in counts.items():
        yield f"    {count:>4}  {shown(name)}"


def _shown_value(value: dict[str, Any]) -> str:
    if value["kind"] != "tensor":
        return f"{value['kind']} {shown(str(value['value']))}"
    shape = "×".join(map(str, value["shape"])) or "scalar"
    bounded = "" if value["sizes"] == "fixed" else f", at most ({value['sizes']} sizes)"
    return f"{value['dtype']}  {shape}{bounded}"
