"""What computes the parts that stay: ONNX Runtime, or ONNX's reference in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from onnx import ModelProto

from spirloom.errors import ImportFailure

# Arrays by name in, the outputs in order out.
Compute = Callable[[Mapping[str, Any]], Sequence[Any]]
Host = Callable[[ModelProto], Compute]


def chosen(host: str | Host | None) -> Host:
    """The host of a name, or the first that is installed and takes a model. ImportFailure."""
    if callable(host):
        return host
    if host is not None and host not in _HOSTS:
        raise ImportFailure(f"There is no host '{host}'; there are: {', '.join(_HOSTS)}.")
    names = [host] if host else list(_HOSTS)
    return partial(_first, names)


def _first(names: Sequence[str], model: ModelProto) -> Compute:
    failures = []
    for name in names:
        try:
            return _HOSTS[name](model)
        except ImportError:
            continue
        except Exception as error:  # what they raise is theirs
            failures.append(f"{name}: {type(error).__name__}: {' '.join(str(error).split())}")
    nodes = ", ".join(sorted({node.op_type for node in model.graph.node}))
    if failures:
        raise ImportFailure(f"The nodes that stay ({nodes}) are refused:", *_indented(failures))
    wanted = " or ".join(_REMEDIES[name] for name in names)
    raise ImportFailure(f"The nodes that stay ({nodes}) need {wanted}.")


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _in_onnxruntime(model: ModelProto) -> Compute:
    import onnxruntime  # type: ignore[import]

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # what is wrong is raised
    content = model.SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return partial(session.run, None)


def _in_reference(model: ModelProto) -> Compute:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)
    return partial(evaluator.run, None)


_HOSTS: dict[str, Host] = {"onnxruntime": _in_onnxruntime, "reference": _in_reference}
_REMEDIES = {
    "onnxruntime": "ONNX Runtime (pip install onnxruntime)",
    "reference": "ONNX's reference, which comes with onnx 1.13 (pip install 'onnx>=1.13')",
}
