"""Reads ONNX's backend suite: folders with a model, its inputs and the outputs it must give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, ValueInfoProto, numpy_helper
from spirloom.ir import Array

# The groups that hold their models; those of `real` only say where theirs can be downloaded.
GROUPS = ("node", "simple", "pytorch-operator", "pytorch-converted")


@dataclass(frozen=True)
class DataSet:
    """The inputs of one run and what must come out, in the model's order."""

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
        """The model's inputs that have no value of their own."""
        given = {t.name for t in self.model.graph.initializer}
        return [info for info in self.model.graph.input if info.name not in given]

    @property
    def operator(self) -> str:
        """What the case tests: of a node test the operator, else the group.

        `test_NAME_expanded…` spells out the operator of `test_NAME`.
        """
        plain = SuiteCase(self.group, "", self.folder.with_name(self.name.split("_expanded")[0]))
        case = plain if plain.path.exists() else self
        return str(case.model.graph.node[0].op_type) if self.group == "node" else self.group

    def data_sets(self) -> list[DataSet]:
        """All runs. Only for models whose inputs and outputs are tensors."""
        folders = sorted(self.folder.glob("test_data_set_*"))
        return [DataSet(_arrays(f, "input"), _arrays(f, "output")) for f in folders]


def read_suite(root: Path) -> Iterator[SuiteCase]:
    """All cases below the suite's folder, in order."""
    for group in GROUPS:
        for folder in sorted((root / group).iterdir()):
            yield SuiteCase(group, folder.name, folder)


def only_tensors(infos: Sequence[ValueInfoProto]) -> bool:
    """Whether all of these values are tensors, rather than sequences or optionals."""
    return all(info.type.HasField("tensor_type") for info in infos)


def _arrays(folder: Path, kind: str) -> tuple[Array, ...]:
    count = len(list(folder.glob(f"{kind}_*.pb")))
    return tuple(_array(folder / f"{kind}_{i}.pb") for i in range(count))


def _array(path: Path) -> Array:
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return np.asarray(numpy_helper.to_array(tensor))
