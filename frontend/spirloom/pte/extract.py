"""Extracts the delegates of a program as graph files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spec_model.flatbuffer import MalformedBuffer, Row
from spirloom import graph_file
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.pte.delegate import DelegateReader
from spirloom.pte.file import ProgramFile
from spirloom.pte.graph_delegate import graph_of
from spirloom.pte.importer import ProgramImporter
from spirloom.pte.kernel_calls import ProgramDraft
from spirloom.pte.method import SPIRLOOM, VULKAN
from spirloom.terminal import silent
from spirloom.torch.options import Options
from spirloom.torch.program import Input, Kind, Program, Ref


@dataclass(frozen=True, slots=True)
class Delegate:
    """A delegate of a method by its index, as a graph and as the bytes of its file."""

    method: str
    index: int
    graph: Graph
    data: bytes


def delegates_of(file: ProgramFile, library: OpLibrary) -> Iterator[Delegate]:
    """The delegates of SpirloomBackend, as they are stored, and of VulkanBackend, converted.

    Raises ImportFailure for a delegate of another backend.
    """
    for method in file.program["methods"]:
        for index, row in enumerate(method["delegates"]):
            label = f"delegate {index} of '{method['name']}'"
            try:
                yield Delegate(method["name"], index, *_extracted(file, row, label, library))
            except MalformedBuffer as error:
                raise ImportFailure(f"{file.path} is damaged: {error}.") from None
            except Unsupported as error:
                raise ImportFailure(f"{file.path}: {label}: {error}.") from None


def _extracted(file: ProgramFile, row: Row, label: str, library: OpLibrary) -> tuple[Graph, bytes]:
    data = file.delegate_data(row["processed"])
    if row["id"] == SPIRLOOM:
        return graph_of(data, label), bytes(data)
    if row["id"] != VULKAN:
        raise Unsupported(
            f"its backend is {row['id']}; delegates of {SPIRLOOM} and {VULKAN} can be extracted"
        )
    program = _vulkan_program(file, data, label)
    graph = ProgramImporter(program, library, Options(), {}).run(silent)
    return graph, graph_file.to_bytes(graph)


def _vulkan_program(file: ProgramFile, data: memoryview, label: str) -> Program:
    """A program that consists of one Vulkan delegate."""
    draft = ProgramDraft()
    reader = DelegateReader(data, file.named, label, draft)
    refs = [Ref(f"input{i}") for i in range(len(reader.input_metas))]
    for ref, meta in zip(refs, reader.input_metas, strict=True):
        draft.inputs.append(Input(ref.name, Kind.USER))
        draft.metas[ref.name] = meta
    outputs = tuple(reader.translate(refs))
    return Program(
        f"{file.path}: {label}", tuple(draft.inputs), outputs, tuple(draft.calls), draft.metas,
        weights=draft.weights, mutated=tuple(draft.updates), updates=draft.updates,
    )  # fmt: skip
