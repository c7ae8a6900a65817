"""Networks as ONNX files, with PyTorch's results.

An export takes seconds, so exports are cached in a directory whose name contains a digest of the
versions and of the code that creates the networks.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torchvision
from torch import nn

from tests.network.networks import make_torchvision
from tests.network.transformer import make_transformer
from tests.onnx_export import export_traced

OPSET = 16
LARGEST_BATCH = 3
TRANSFORMER = "transformer_encoder"


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported network.

    The ONNX model has the dynamic dimension `batch` and the output `logits`. The arrays are the
    inputs and the logits of PyTorch's CPU run for LARGEST_BATCH images or sentences.
    """

    onnx: Path
    inputs: dict[str, npt.NDArray[Any]]
    logits: npt.NDArray[np.float32]


def make_network(name: str) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    """A network in evaluation mode and its inputs; deterministic for a name."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    if name == TRANSFORMER:
        return make_transformer(LARGEST_BATCH, generator)
    return make_torchvision(name, LARGEST_BATCH, generator)


def write_network(name: str, folder: Path) -> None:
    """Writes model.onnx, inputs.npz and logits.npy to the directory."""
    network, inputs = make_network(name)
    with torch.no_grad():
        logits = network(*inputs.values())
    export_traced(
        network,
        tuple(value[:2] for value in inputs.values()),
        folder / "model.onnx",
        opset_version=OPSET,
        input_names=list(inputs),
        output_names=["logits"],
        dynamic_axes={name: {0: "batch"} for name in (*inputs, "logits")},
    )
    np.savez(folder / "inputs.npz", **{name: value.numpy() for name, value in inputs.items()})
    np.save(folder / "logits.npy", logits.numpy())


def recipe() -> str:
    """A digest of the code and the versions that determine the networks."""
    texts = [path.read_text() for path in sorted(Path(__file__).parent.glob("*.py"))
             if path.stem in ("export", "networks", "transformer")]  # fmt: skip
    parts = (*texts, torch.__version__, torchvision.__version__)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def export_network(name: str, cache: Path) -> Exported:
    """Returns the network from the cache, and exports it first if necessary."""
    folder = cache / f"{name}-{recipe()}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=f"{name}-") as scratch:
            unfinished = Path(scratch) / "network"
            unfinished.mkdir()
            write_network(name, unfinished)
            try:
                unfinished.rename(folder)
            except OSError:
                if not folder.exists():  # otherwise another process exported it first
                    raise
    with np.load(folder / "inputs.npz") as inputs:
        return Exported(folder / "model.onnx", dict(inputs), np.load(folder / "logits.npy"))
