"""Random PyTorch functions of two dynamic sizes, compared with PyTorch at every size.

.venv-torch/bin/python -m tests.oracles.torch_sizes --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from spirloom.errors import ImportFailure
from spirloom.sizes import Symbol, is_symbolic
from spirloom.symbolic.specialize import specialize
from spirloom.torch.build import build
from spirloom.torch.export import decompose, exported_of, program_of
from spirloom.torch.options import Options
from spirloom.torch.program import Kind, Program, SizeExpr

from tests.frontend import reference_run
from tests.fuzz.campaign import Target, exit_with
from tests.oracles.comparison import LIBRARY, check_close

# Statements of a tensor v with 4 columns, which starts as x. {k}, {j}: small ints, {s}: a size.
STATEMENTS = """
v[{k}:]
v[:1].expand({s}, 4)
v[: {s}]
torch.cat([v, x])
torch.cat([y, v[:1] * {k}])
torch.stack([v, v * 2], 1).flatten(0, 1)
F.pad(v, (0, 0, {k}, {j}))
v.repeat(2, 1)
(v[:, None] + y).reshape(-1, 4)
v.mean(0, keepdim=True).expand(v.shape[0], 4) + v
v.sum(0) / v.shape[0] + v
v * y.shape[0] ** 0.5
v * (1.0 / ({s}))
v + torch.arange(v.shape[0])[:, None]
v + torch.arange({k}, v.shape[0] + {k})[:, None] * 0.5
torch.where(torch.ones(v.shape[0], v.shape[0]).tril().sum(1, keepdim=True) > {k}, v, -v)
(v @ v.T * 0.01 + torch.full((v.shape[0], v.shape[0]), -9.0).triu(1)).softmax(-1) @ v
v.T.reshape(-1, 4)
v.cumsum(0) * 0.1
F.avg_pool1d(v.T[None], 2, 1)[0].T
F.max_pool1d(v.T[None], 3, 2, 1)[0].T
v.view(-1, 2, 2).transpose(1, 2).reshape(-1, 4)
v.unsqueeze(1).permute(1, 0, 2).flatten(0, 1)
v.masked_fill((torch.arange(v.shape[0]) >= {s})[:, None], 0.5)
v.flip(0)
v - v.amax(0, keepdim=True)
torch.cat(v.chunk(2, 1)[::-1], 1)
F.layer_norm(v, (4,))
F.gelu(v) + x.sum()
F.interpolate(v.T[None], size={s}, mode="nearest")[0].T
v.new_zeros(v.shape[0], 4) + v[:1]
v.index_select(0, torch.arange(v.shape[0]).remainder({k} + 1))
""".strip().splitlines()

SIZES = """
x.shape[0]
v.shape[0]
x.shape[0] + y.shape[0]
x.shape[0] * 2 + {k}
x.shape[0] // 2 + 1
(x.shape[0] + {k}) // 3 + y.shape[0]
torch.sym_max(x.shape[0], {j} + 2)
torch.sym_min(y.shape[0], {j} + 2)
x.shape[0] * y.shape[0]
""".strip().splitlines()


class Chain(torch.nn.Module):  # type: ignore[misc]
    """Statements in order."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.functions: list[Callable[..., Any]] = [
            eval(f"lambda v, x, y: {line}", {"torch": torch, "F": F}) for line in lines
        ]

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        v = x
        for function in self.functions:
            v = function(v, x, y)
        return v * 2


def make(choose: random.Random) -> dict[str, bytes]:
    """Statements, and the bounds of both sizes."""

    def filled(text: str) -> str:
        size = choose.choice(SIZES).replace("{k}", str(choose.randint(0, 3)))
        numbers = {"{k}": str(choose.randint(0, 3)), "{j}": str(choose.randint(0, 3))}
        text = text.replace("{s}", size)
        for name, value in numbers.items():
            text = text.replace(name, value)
        return text

    lines = [filled(choose.choice(STATEMENTS)) for _ in range(choose.randint(1, 5))]
    lows = [choose.choice((0, 1, 2, 3)) for _ in "xy"]
    bounds = [(low, low + choose.randint(2, 5)) for low in lows]
    return {"model.json": json.dumps({"lines": lines, "bounds": bounds}).encode()}


def run(files: dict[str, bytes]) -> bool:
    """Whether the function is imported. Raises if a size has another result."""
    model = json.loads(files["model.json"])
    module = Chain(model["lines"]).eval()
    dims = [torch.export.Dim(name, min=low, max=high)
            for name, (low, high) in zip(("n", "m"), model["bounds"], strict=True)]  # fmt: skip
    given = tuple(torch.ones(high, 4) for _, high in model["bounds"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exported = exported_of(module, given, None, [{0: dim} for dim in dims])
    except Exception:  # the errors of torch.export have no common type
        return False
    try:
        program = program_of(decompose(exported, LIBRARY))
        graph = build(program, LIBRARY, Options(symbols=_with_empty(program, model["bounds"])))
    except ImportFailure:
        return False
    names = [str(tensor.shape[0]) for tensor in graph.inputs]
    ranges: list[Sequence[int]] = [
        range(low, high + 1) if is_symbolic(tensor.shape) else tensor.shape[:1]  # by torch.export
        for tensor, (low, high) in zip(graph.inputs, model["bounds"], strict=True)
    ]
    for sizes in product(*ranges):
        args = [(torch.arange(4.0 * size).reshape(size, 4) % 7) / 4 for size in sizes]
        by_name = dict(zip(names, sizes, strict=True))
        own = {symbol.name: by_name[symbol.name] for symbol in graph.symbols}
        special = specialize(graph, own, LIBRARY)
        values = {t.name: a.numpy() for t, a in zip(graph.inputs, args, strict=True)}
        (found,) = reference_run.run(special, values).values()
        try:
            expected = module(*args).numpy()
        except (RuntimeError, IndexError):
            if 0 not in sizes:
                raise
            continue  # PyTorch refuses empty tensors
        check_close([found], [expected])
    return True


def _with_empty(program: Program, bounds: Sequence[tuple[int, int]]) -> dict[str, Symbol]:
    """The symbols with a minimum of 0, which programs do not distinguish from others."""
    found: dict[str, Symbol] = {}
    users = [given for given in program.inputs if given.kind is Kind.USER]
    for given, (low, high) in zip(users, bounds, strict=True):
        size = program.metas[given.name].shape[0]
        name = size.symbol() if isinstance(size, SizeExpr) else None
        if name is not None and low == 0:
            found[name] = Symbol(name, low, high)
    return found


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
