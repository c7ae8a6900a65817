"""Computes the values of a source model with another implementation: ONNX Runtime or PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.installation import how_to_install
from spirloom.ir import Array

# The values of some names of the source model, for the same inputs.
Evaluate = Callable[[Collection[str]], Mapping[str, Array]]


class Oracle(StrEnum):
    """What results are compared with."""

    ONNXRUNTIME = "onnxruntime"
    TORCH = "torch"
    REFERENCE = "reference"
    CPU_KERNELS = "cpu-kernels"

    @property
    def is_exact(self) -> bool:
        """Whether it computes each node from the operands that the device computed: errors then do
        not accumulate.
        """
        return self is Oracle.REFERENCE


def onnxruntime_values(model: Path, inputs: Mapping[str, Array]) -> tuple[list[str], Evaluate]:
    """The names of the computed values of an ONNX model, and their evaluation without graph
    optimizations.

    `inputs` are by name, in any dtype that converts to the model's.
    """
    import onnx

    proto = onnx.load(str(model))
    outputs = [value.name for value in proto.graph.output]
    names = [name for node in proto.graph.node for name in node.output if name]

    def evaluate(wanted: Collection[str]) -> Mapping[str, Array]:
        del proto.graph.output[len(outputs) :]
        more = [name for name in wanted if name not in outputs]
        proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in more)
        session = _session(proto)
        given = {
            value.name: inputs[value.name].astype(_onnx_dtype(value.type))
            for value in session.get_inputs()
            if value.name in inputs
        }
        kept = [name for name in (*outputs, *more) if name in wanted]
        found = session.run(kept, given)
        return {n: v for n, v in zip(kept, found, strict=True) if isinstance(v, np.ndarray)}

    return names, evaluate


def _session(proto: Any) -> Any:
    import tempfile

    import onnx

    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    if proto.ByteSize() < _MAX_PROTO:
        return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.onnx"
        onnx.save(proto, str(path), save_as_external_data=True)
        return onnxruntime.InferenceSession(str(path), options, providers)


def _onnxruntime() -> Any:
    try:
        return import_module("onnxruntime")
    except ModuleNotFoundError as error:
        raise ImportFailure(
            "--with onnxruntime requires the Python module 'onnxruntime'. "
            f"{how_to_install('onnxruntime')} Or use --with reference."
        ) from error


_MAX_PROTO = 2_000_000_000  # of a serialized message
_ONNX_DTYPES = {
    "tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
    "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(int16)": np.int16,
    "tensor(int8)": np.int8, "tensor(uint64)": np.uint64, "tensor(uint32)": np.uint32,
    "tensor(uint16)": np.uint16, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_,
}  # fmt: skip


def _onnx_dtype(name: str) -> Any:
    if name not in _ONNX_DTYPES:
        raise ImportFailure(f"ONNX Runtime requires an input of type {name}, which NumPy lacks.")
    return _ONNX_DTYPES[name]


def torch_values(archive: Path, inputs: Mapping[str, Array]) -> tuple[list[str], Evaluate]:
    """The names of the computed values of an archive of torch.export.save, and their evaluation in
    eager PyTorch.
    """
    import torch

    program = torch.export.load(str(archive))
    nodes = program.graph_module.graph.nodes
    names = [node.name for node in nodes if node.op == "call_function"]

    def evaluate(wanted: Collection[str]) -> Mapping[str, Array]:
        arguments = list(_torch_arguments(program, inputs))
        interpreter = _interpreter(program.graph_module, set(wanted))
        with torch.no_grad():
            interpreter.run(*arguments)
        found: dict[str, Array] = interpreter.found
        return found

    return names, evaluate


def _torch_arguments(program: Any, inputs: Mapping[str, Array]) -> Iterable[Any]:
    """The values of the placeholders: weights, buffers, constants, inputs."""
    import torch

    values = {node.name: node.meta.get("val") for node in program.graph_module.graph.nodes}
    for spec in program.graph_signature.input_specs:
        name = spec.arg.name
        if spec.target in program.state_dict:
            yield program.state_dict[spec.target].detach().clone()
        elif spec.target is not None and spec.target in program.constants:
            yield program.constants[spec.target]
        elif name in inputs:
            yield torch.from_numpy(np.array(inputs[name])).to(values[name].dtype)
        elif not isinstance(values[name], torch.Tensor):
            yield getattr(spec.arg, "value", values[name])
        else:
            raise ImportFailure(f"The input '{name}' of the program has no value. Use --input.")


def _interpreter(module: Any, wanted: set[str]) -> Any:
    import torch

    class Recorder(torch.fx.Interpreter):  # type: ignore[misc]
        """Copies the values of the wanted names: later calls may write to them."""

        def __init__(self) -> None:
            super().__init__(module)
            self.found: dict[str, Array] = {}

        def run_node(self, n: Any) -> Any:
            result = super().run_node(n)
            if n.name in wanted and isinstance(result, torch.Tensor):
                self.found[n.name] = _to_numpy(result)
            return result

    return Recorder()


def _to_numpy(tensor: Any) -> Array:
    import torch

    plain = tensor.detach().contiguous().cpu()
    if plain.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        plain = plain.float()
    if plain.is_complex():
        plain = torch.view_as_real(plain).contiguous()
    array: Array = plain.numpy().copy()
    return array


def transformers_values(directory: Path, inputs: Mapping[str, Array]) -> tuple[list[str], Evaluate]:
    """The names of the values of a Hugging Face model's `prefill`, and their evaluation by
    transformers in float32: the embedding, norms, the operands of output projections, the hidden
    states after attention and MLP, and the logits of the last token.

    Raises ImportFailure if no input has tokens.
    """
    import torch

    tokens = next((a for a in inputs.values() if a.dtype.kind == "i" and a.ndim == 2), None)
    if tokens is None:
        raise ImportFailure("--with torch compares a language model's prefill: --method prefill.")
    ids = torch.from_numpy(tokens.astype(np.int64))
    load: Any = _transformers().AutoModelForCausalLM.from_pretrained
    model = load(str(directory), dtype=torch.float32, local_files_only=True).eval()
    taps = _taps(model)

    def evaluate(wanted: Collection[str]) -> Mapping[str, Array]:
        found: dict[str, Array] = {}

        def hook(name: str) -> Callable[..., None]:
            def keep(module: Any, given: Any, value: Any = None) -> None:
                kept = given if value is None else value
                kept = kept[0] if isinstance(kept, tuple) else kept
                found[name] = _to_numpy(kept)

            return keep

        hooks = [register(hook(name)) for name, register in taps.items() if name in wanted]
        try:
            with torch.no_grad():
                found["logits"] = _to_numpy(model(input_ids=ids, use_cache=False).logits[:, -1])
        finally:
            for each in hooks:
                each.remove()
        return found

    return [*taps, "logits"], evaluate


def _taps(model: Any) -> dict[str, Callable[..., Any]]:
    """By the name of a value in the graph, the function that registers a hook for it."""
    modules = dict(model.named_modules())
    taps = {"embedding": model.get_input_embeddings().register_forward_hook}
    for name, module in modules.items():
        layer, _, last = name.rpartition(".")
        if last.endswith("norm"):
            taps[name] = module.register_forward_hook
        if last == "o_proj":
            taps[layer] = module.register_forward_pre_hook
        if last == "down_proj":
            taps[f"{layer}.act"] = module.register_forward_pre_hook
        # The graph adds the residual in the projection, if norms are before it and not after.
        is_pre_norm = f"{layer}.pre_feedforward_layernorm" not in modules
        if last == "post_attention_layernorm" and is_pre_norm:
            taps[f"{layer}.self_attn.o_proj"] = module.register_forward_pre_hook
            taps[f"{layer}.mlp.down_proj"] = modules[layer].register_forward_hook
    return taps


def _transformers() -> Any:
    try:
        return import_module("transformers")
    except ModuleNotFoundError as error:
        raise ImportFailure(
            "--with torch of a Hugging Face directory requires the Python module 'transformers'. "
            f"{how_to_install('transformers')} Or use --with reference."
        ) from error
