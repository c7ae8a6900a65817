"""Reads ONNX's backend suite: directories with a model, inputs and expected outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, ValueInfoProto, numpy_helper
from spirloom.ir import Array

# The groups that include their models. Those of `real` must be downloaded.
GROUPS = ("node", "simple", "pytorch-operator", "pytorch-converted")


@dataclass(frozen=True)
class DataSet:
    """The inputs and expected outputs of one run, in the order of the model."""

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True)
class SuiteCase:
    """One test of the suite."""

    group: str
    name: str
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "model.onnx"

    @cached_property
    def model(self) -> ModelProto:
        return onnx.load(str(self.path))

    @property
    def inputs(self) -> list[ValueInfoProto]:
        """The inputs of the model that are not initializers."""
        given = {t.name for t in self.model.graph.initializer}
        return [info for info in self.model.graph.input if info.name not in given]

    @property
    def operator(self) -> str:
        """The tested operator of a node test, otherwise the group.

        `test_NAME_expanded…` is a decomposition of the operator of `test_NAME`.
        """
        plain = SuiteCase(self.group, "", self.folder.with_name(self.name.split("_expanded")[0]))
        case = plain if plain.path.exists() else self
        return str(case.model.graph.node[0].op_type) if self.group == "node" else self.group

    def data_sets(self) -> list[DataSet]:
        """All runs. Only for models whose inputs and outputs are tensors."""
        folders = sorted(self.folder.glob("test_data_set_*"))
        return [DataSet(_arrays(f, "input"), _arrays(f, "output")) for f in folders]


def suite_version() -> str:
    """The version of ONNX, without the patch level: Debian's package of the suite has that of the
    installed module."""
    return ".".join(onnx.__version__.split(".")[:2])


def read_suite(root: Path) -> Iterator[SuiteCase]:
    """All cases in the suite's directory, in order."""
    for group in GROUPS:
        for folder in sorted((root / group).iterdir()):
            yield SuiteCase(group, folder.name, folder)


def only_tensors(infos: Sequence[ValueInfoProto]) -> bool:
    """Whether all of these values are tensors, not sequences or optionals."""
    return all(info.type.HasField("tensor_type") for info in infos)


def _arrays(folder: Path, kind: str) -> tuple[Array, ...]:
    count = len(list(folder.glob(f"{kind}_*.pb")))
    return tuple(_array(folder / f"{kind}_{i}.pb") for i in range(count))


def _array(path: Path) -> Array:
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return np.asarray(numpy_helper.to_array(tensor))
