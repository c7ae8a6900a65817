"""Random calls of ATen operators, compared with PyTorch: by torch.export or by an ONNX exporter.

.venv-torch/bin/python -m tests.oracles.torch_calls --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import io
import json
import random
import warnings
from typing import Any

import torch
import torch.nn.functional as F
from spirloom.errors import ImportFailure
from spirloom.ir import Array, Graph
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.passes import optimize
from spirloom.torch.export import decompose, exported_of, graph_of, program_of
from spirloom.torch.options import Options

from tests.frontend import reference_run
from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.onnx_import import scratch
from tests.oracles.comparison import LIBRARY, check_close

# Python expressions of the inputs a, b (floats), i (int64) and m (bool), and of random numbers:
# {d} a dim of a, {k} a small int, {s} a scalar, {o} an odd window.
EXPRESSIONS = """
a.sum({d})
a.mean({d}, keepdim=True)
a.amax({d})
a.std({d})
a.var({d}, unbiased=False)
a.prod({d})
a.cumsum({d})
a.cumprod({d})
a.logsumexp({d})
a.softmax({d})
a.log_softmax({d})
a.argmax({d})
a.sort({d})[0]
a.topk(1, {d})[0]
a.flip({d})
a.roll({k}, {d})
a.unsqueeze({d})
a.narrow({d}, 0, 1)
a.max({d})[0]
a.min({d})[1]
a.median({d})[0]
a.norm({p}, {d})
a.any({d})
a.count_nonzero({d})
a + b
a - {s} * b
a * b + {s}
a / (b.abs() + 1)
a ** 2
torch.fmod(a, b.abs() + 1)
a % (b.abs() + 1)
torch.maximum(a, b)
torch.atan2(a, b)
torch.hypot(a, b)
torch.lerp(a, b, {s})
torch.where(m, a, b)
torch.addcmul(a, b, b, value={s})
torch.clamp(a, -1, {s})
torch.clamp(a, min=b)
a.masked_fill(m, {s})
a.relu()
F.gelu(a)
F.gelu(a, approximate="tanh")
F.silu(a)
F.mish(a)
F.elu(a, {s})
F.softplus(a, 2)
F.hardswish(a)
F.leaky_relu(a, {s})
F.celu(a, 2)
F.logsigmoid(a)
F.softshrink(a, 0.5)
a.erf()
a.expm1()
a.floor()
a.round()
a.round(decimals=1)
a.trunc()
a.frac()
a.sign()
a.rsqrt().nan_to_num()
a.tan()
a.to(torch.int32).float()
a.to(torch.float16) * {s}
(a > {s}).float()
a.isnan() | m
m.sum({d})
m & (a > 0)
F.layer_norm(a, a.shape[-1:])
F.rms_norm(a, a.shape[-1:])
F.normalize(a, dim={d})
F.cosine_similarity(a, b, {d})
a.matmul(b.transpose(-1, -2))
torch.einsum("...i,...j->...ij", a, b)
F.linear(a, w)
torch.baddbmm(a @ a.mT, a, b.mT)
a[..., ::2]
a[:, -1]
a[i]
a[:, i % a.shape[1]]
a.index_select(0, i)
a.gather(0, j)
a.scatter_add(0, j, b)
a.index_add(0, i, b[:3])
a.flatten()
a.reshape(-1, a.shape[-1])
a.permute({perm})
a.tile(2, 1)
a.repeat(1, {k2}, 1)
torch.cat([a, b], {d})
torch.stack([a, b], {d})
a.split(1, {d})[-1]
a.chunk(2, {d})[0]
a.unfold({d}, 2, 1)
F.pad(a, (1, 2))
F.pad(a, ({k}, -1))
F.pad(a, (1, 1), mode="reflect")
F.pad(a, (1, 1), mode="circular")
torch.tril(a, {k})
torch.diagonal(a, 0, -2, -1)
a.diag_embed()
F.one_hot(i, 9)
torch.arange(a.shape[0]) * {s}
F.embedding(i, w)
i * 2 + 1
i // 2
i % 3
i.float() / {s}
torch.bitwise_and(i, 3)
i.to(torch.int32) << 1
F.max_pool1d(a, 2)
F.avg_pool1d(a, 2, 1, 1)
F.adaptive_avg_pool1d(a, 3)
F.interpolate(a, scale_factor={f})
F.interpolate(a, size=7, mode="linear", align_corners={b})
F.conv1d(a, w1, padding={k2})
F.glu(a.repeat(1, 1, 2))
F.interpolate(a[None], scale_factor={f}, mode="bilinear", align_corners={b})
F.max_pool2d(a[None], 2, ceil_mode=True)
F.interpolate(a[None], scale_factor={f}, mode="bicubic")
F.interpolate(a[None], (5, 3), mode="nearest-exact")
F.avg_pool2d(a[None], 2, 1, 1, count_include_pad={b})
F.conv_transpose1d(a, w1.transpose(0, 1), stride=2)
F.scaled_dot_product_attention(a, b, b, is_causal={b})
torch.cdist(a, b)
torch.triu(a).sum({d}).exp()
""".strip().split("\n")

# Torch's own exporters, besides torch.export.
ROUTES = (*["export"] * 6, *["torchscript"] * 3, "onnx")


class Expression(torch.nn.Module):  # type: ignore[misc]
    """A module of one expression."""

    def __init__(self, text: str, weights: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.code = compile(text, "<expression>", "eval")
        for name, value in weights.items():
            self.register_buffer(name, value)

    def forward(self, a: Any, b: Any, i: Any, m: Any) -> Any:
        names = {**dict(self.named_buffers()), "a": a, "b": b, "i": i, "m": m, "F": F}
        return eval(self.code, {"torch": torch, **names})


def make(choose: random.Random) -> dict[str, bytes]:
    """An expression, the seed and the shape of its inputs, and the route of the import."""
    text = choose.choice(EXPRESSIONS)
    numbers = {
        "d": choose.choice((0, 1, 2, -1)),
        "k": choose.randint(-2, 2),
        "k2": choose.randint(1, 2),
        "s": choose.choice((0.1, 0.5, 1.25, 2, 3, 1e4)),
        "f": choose.choice((0.5, 0.7, 0.9, 1.4, 1.5, 2.0, 3.3)),
        "p": choose.choice((1, 2, 3)),
        "b": choose.random() < 0.5,
        "perm": tuple(choose.sample(range(3), 3)),
    }
    case = {
        "expression": text.format(**numbers),
        "shape": [choose.randint(4, 8), choose.randint(2, 7), choose.randint(3, 8)],
        "seed": choose.getrandbits(30),
        "route": choose.choice(ROUTES),
    }
    return {"case.json": json.dumps(case).encode()}


def run(files: dict[str, bytes]) -> bool:
    """Whether PyTorch and the importer accept the call. Raises if the results differ."""
    case = json.loads(files["case.json"])
    module, inputs = _built(case["expression"], case["shape"], case["seed"])
    try:
        with torch.no_grad():
            expected = module(*inputs)
    except (RuntimeError, IndexError, ValueError, TypeError):
        return False
    graph = _imported(module, inputs, case["route"])
    if graph is None:
        return False
    arrays = dict(zip("abim", (tensor.numpy() for tensor in inputs), strict=True))
    given = {t.name: arrays[t.name].astype(t.dtype.numpy) for t in graph.inputs}
    found = reference_run.run(graph, given)
    rtol = 2e-3 if "float16" in case["expression"] else 1e-4
    results = [found[t.name] for t in graph.outputs]
    try:
        check_close(results, [expected.numpy()], rtol)
    except AssertionError:
        if case["route"] == "export":
            raise
        # Torch's ONNX exporters have errors of their own, such as index_add with equal indices.
        check_close(results, _exported_results(arrays), rtol)
    return True


def _exported_results(arrays: dict[str, Array]) -> list[Array]:
    """The results of the exported ONNX model in ONNX Runtime."""
    import onnxruntime as ort  # type: ignore[import]

    session = ort.InferenceSession(scratch() / "call.onnx", providers=["CPUExecutionProvider"])
    given = {each.name: arrays[each.name] for each in session.get_inputs()}
    results: list[Array] = session.run(None, given)
    return results


def _built(text: str, shape: list[int], seed: int) -> tuple[Expression, tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(seed)

    def normal(*sizes: int) -> torch.Tensor:
        return (torch.randn(*sizes, generator=generator) * 128).round() / 64

    a, b = normal(*shape), normal(*shape)
    i = torch.randint(0, shape[0], (3,), generator=generator)
    weights = {"w": normal(8, shape[-1]), "w1": normal(4, shape[1], 3),
               "j": torch.randint(0, shape[0], tuple(shape), generator=generator)}  # fmt: skip
    return Expression(text, weights).eval(), (a, b, i, a > b)


def _imported(module: Expression, inputs: tuple[torch.Tensor, ...], route: str) -> Graph | None:
    """The graph; None if an exporter or the importer refuses the module."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if route == "export":
            try:
                exported = decompose(exported_of(module, inputs, None, None), LIBRARY)
                options = Options.of({}, {"i": (0, 8)}, False, False, "", ())
                return graph_of(program_of(exported), LIBRARY, options)
            except ImportFailure:
                return None
        stream = io.BytesIO()
        try:
            torch.onnx.export(
                module, inputs, stream, input_names=list("abim"), dynamo=route == "onnx",
                verbose=False, opset_version=18 if route == "onnx" else 17,
            )  # fmt: skip
        except Exception:  # the exporters' errors have no common type
            return None
    path = scratch() / "call.onnx"
    path.write_bytes(stream.getvalue())
    try:
        graph = import_model(path, LIBRARY, Shapes())
    except ImportFailure:
        return None
    optimize(graph, LIBRARY)
    return graph


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
