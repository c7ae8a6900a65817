"""Replay files (.slreplay): one run of a model with all that it depends on, in a zip archive.

manifest.json      versions, device, driver, digests of libraries, options, names of tensors
model.slg          the graph, of fixed sizes; with stripped weights their statistics are in the
                   manifest
inputs/N.npy       inputs and given states, outputs/N.npy the results, by the manifest's order
libraries/N.slpack shader libraries that replaced operators
nodes.json         of each computed tensor its kernels, a digest of its bytes, and 64 elements
"""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spec_model.files import replaced
from spec_model.flatbuffer import MalformedBuffer
from spirloom import __version__, graph_file, graph_reader
from spirloom.debug.cases import npy_array, npy_bytes
from spirloom.debug.device_values import DeviceOptions, chunks_of
from spirloom.debug.metrics import Measured, default_tolerance, measure, wide
from spirloom.debug.synthetic_weights import Statistics, restore, strip
from spirloom.errors import ImportFailure, reading, writing
from spirloom.ir import Array, DType, Graph

if TYPE_CHECKING:
    from spirloom.runtime import Runtime

FORMAT, VERSION = "spirloom-replay", 1
SAMPLES = 64
_ENTRY_DATE = (1980, 1, 1, 0, 0, 0)  # equal runs give equal archives


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """The record of a computed tensor. `samples` are elements at equal distances."""

    node: str
    op: str
    tensor: str
    dtype: str
    shape: tuple[int, ...]
    kernels: tuple[str, ...]
    digest: str
    samples: tuple[float | None, ...]  # None: NaN


@dataclass(frozen=True, slots=True)
class Environment:
    """The versions and the device of a run."""

    spirloom: str
    device: str
    driver: str
    api_version: str
    shaders: str  # digest of the library of all operators
    overrides: tuple[str, ...]  # digests


@dataclass(frozen=True, slots=True)
class Recording:
    """The content of a replay file."""

    graph: Graph
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    environment: Environment
    storage: str
    kernels: tuple[str, ...]
    libraries: tuple[bytes, ...]
    nodes: Sequence[NodeRecord]
    weights: Sequence[Statistics] | None = None  # of stripped weights


def record(
    graph: Graph,
    inputs: Mapping[str, Array],
    options: DeviceOptions,
    *,
    strip_weights: bool = False,
    layers: bool = True,
) -> Recording:
    """Runs a graph of fixed sizes. With `strip_weights`, it then has synthetic weights, and the
    results are of these. `layers`: also records every node.
    """
    statistics = strip(graph) if strip_weights else None
    if statistics is not None:
        restore(graph, statistics)
    with options.runtime() as runtime:
        outputs = run_outputs(runtime, graph, inputs, options)
        nodes = node_records(runtime, graph, inputs, options) if layers else []
        environment = environment_of(runtime, options)
    return Recording(
        graph,
        inputs,
        outputs,
        environment,
        options.storage,
        options.kernels,
        tuple(path.read_bytes() for path in options.overrides),
        nodes,
        statistics,
    )


def environment_of(runtime: Runtime, options: DeviceOptions) -> Environment:
    """The versions of this machine."""
    from spirloom.runtime.native import native

    device = runtime.device
    return Environment(
        __version__,
        device.name,
        device.driver,
        device.api_version,
        _file_digest(native().files.shaders),
        tuple(_file_digest(path) for path in options.overrides),
    )


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def run_outputs(
    runtime: Runtime, graph: Graph, inputs: Mapping[str, Array], options: DeviceOptions
) -> dict[str, Array]:
    """The outputs of the graph as it is, by name."""
    with options.load(runtime, graph) as model:
        for state in model.states:
            if state in inputs:
                model.states[state] = inputs[state]
        results = model.run({info.name: inputs[info.name] for info in model.inputs})
        return dict(zip((info.name for info in model.outputs), results, strict=True))


def node_records(
    runtime: Runtime, graph: Graph, inputs: Mapping[str, Array], options: DeviceOptions
) -> list[NodeRecord]:
    """The records of all nodes."""
    return [
        NodeRecord(
            node.name,
            node.op,
            tensor.name,
            str(tensor.dtype),
            tuple(map(int, tensor.shape)),
            chunk.kernels_of(node),
            hashlib.sha256(np.ascontiguousarray(chunk.values[tensor]).tobytes()).hexdigest(),
            tuple(None if np.isnan(x) else float(x) for x in samples_of(chunk.values[tensor])),
        )
        for chunk in chunks_of(runtime, graph, inputs, options, operands=False)
        for node in chunk.nodes
        for tensor in node.outputs
    ]


def samples_of(array: Array) -> Array:
    """Up to 64 elements at equal distances, as float64."""
    flat = array.reshape(-1)
    step = max(1, -(-flat.size // SAMPLES))
    return wide(flat[::step])


@dataclass(frozen=True, slots=True)
class Difference:
    """A result that differs from the recorded one. `measured` of a node is of its samples."""

    recorded: str  # the name of the output, or the node
    kernels: tuple[str, ...]
    recorded_kernels: tuple[str, ...]
    measured: Measured


def compare_outputs(
    found: Mapping[str, Array], recorded: Mapping[str, Array]
) -> list[tuple[str, Measured]]:
    """The error of each recorded output."""
    rows = []
    for name, expected in recorded.items():
        if name not in found or found[name].shape != expected.shape:
            raise ImportFailure(f"The replay has an output '{name}' that the model does not have.")
        dtype = DType.of(expected.dtype)
        tolerance = default_tolerance(dtype, accumulated=True) if dtype is not None else 0.0
        rows.append((name, measure(found[name], expected, tolerance, accumulated=True)))
    return rows


def compare_nodes(found: Sequence[NodeRecord], recorded: Sequence[NodeRecord]) -> list[Difference]:
    """The nodes whose bytes differ from the recorded ones, in order of execution."""
    if [n.node for n in found] != [n.node for n in recorded]:
        raise ImportFailure("The nodes of the replay are not those of its model.")
    return [
        Difference(old.node, new.kernels, old.kernels, _measure_samples(new, old))
        for new, old in zip(found, recorded, strict=True)
        if new.digest != old.digest
    ]


def _measure_samples(found: NodeRecord, recorded: NodeRecord) -> Measured:
    dtype = DType(recorded.dtype)
    kind = np.float64 if dtype.is_float else np.int64
    x, y = (
        np.array([np.nan if v is None else v for v in each.samples], np.float64).astype(kind)
        for each in (found, recorded)
    )
    return measure(x, y, default_tolerance(dtype, accumulated=True), accumulated=True)


def save(recording: Recording, path: Path) -> None:
    """Writes the file. Raises ImportFailure if it cannot be written."""
    graph = recording.graph
    if recording.weights is not None:
        strip(graph)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "environment": asdict(recording.environment),
        "storage": recording.storage,
        "kernels": list(recording.kernels),
        "inputs": list(recording.inputs),
        "outputs": list(recording.outputs),
        "libraries": len(recording.libraries),
        "weights": recording.weights,
    }
    members: dict[str, bytes] = {
        "manifest.json": json.dumps(manifest, indent=1).encode(),
        "model.slg": graph_file.to_bytes(graph),
        "nodes.json": json.dumps([asdict(node) for node in recording.nodes]).encode(),
    }
    for kind, arrays in (("inputs", recording.inputs), ("outputs", recording.outputs)):
        for i, array in enumerate(arrays.values()):
            members[f"{kind}/{i}.npy"] = npy_bytes(array)
    for i, library in enumerate(recording.libraries):
        members[f"libraries/{i}.slpack"] = library
    if recording.weights is not None:
        restore(graph, recording.weights)
    write_archive(path, members)


def write_archive(path: Path, members: Mapping[str, bytes]) -> None:
    """Writes a zip archive; equal members give equal bytes."""
    with writing(path), replaced(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            info = zipfile.ZipInfo(name, _ENTRY_DATE)
            archive.writestr(info, data, zipfile.ZIP_DEFLATED, 6)


def load(path: Path) -> Recording:
    """Reads a file. Raises ImportFailure if it is damaged."""
    try:
        with reading(path), zipfile.ZipFile(path) as archive:
            return _read(archive, path)
    except _DAMAGE as error:
        raise ImportFailure(f"{path} is damaged or not a replay file: {error}.") from error


# What reading a damaged archive or manifest raises.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, MalformedBuffer, LookupError, TypeError,
    ValueError, AttributeError, EOFError, NotImplementedError, RuntimeError, MemoryError,
)  # fmt: skip


def _read(archive: zipfile.ZipFile, path: Path) -> Recording:
    manifest = json.loads(archive.read("manifest.json"))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"manifest.json does not state the format '{FORMAT}'")
    if manifest["version"] != VERSION:
        raise ValueError(f"it has version {manifest['version']}; {VERSION} is supported")
    graph = graph_reader.read_methods(memoryview(archive.read("model.slg")), str(path))[0]
    weights = manifest["weights"]
    if weights is not None:
        restore(graph, weights)
    arrays = {
        kind: {
            str(name): npy_array(archive.read(f"{kind}/{i}.npy"), f"{kind}/{i}.npy")
            for i, name in enumerate(manifest[kind])
        }
        for kind in ("inputs", "outputs")
    }
    environment: dict[str, Any] = {**manifest["environment"]}
    environment["overrides"] = tuple(environment["overrides"])
    return Recording(
        graph,
        arrays["inputs"],
        arrays["outputs"],
        Environment(**environment),
        str(manifest["storage"]),
        tuple(map(str, manifest["kernels"])),
        tuple(archive.read(f"libraries/{i}.slpack") for i in range(int(manifest["libraries"]))),
        [_record_of(each) for each in json.loads(archive.read("nodes.json"))],
        weights,
    )


def _record_of(fields: Any) -> NodeRecord:
    made = NodeRecord(**fields)
    return replace(
        made,
        dtype=str(DType(made.dtype)),
        shape=tuple(map(int, made.shape)),
        kernels=tuple(map(str, made.kernels)),
        samples=tuple(None if x is None else float(x) for x in made.samples),
    )


def extract_libraries(recording: Recording, directory: Path) -> tuple[Path, ...]:
    """Writes the shader libraries of a recording to a directory."""
    paths = []
    for i, data in enumerate(recording.libraries):
        paths.append(directory / f"{i}.slpack")
        paths[-1].write_bytes(data)
    return tuple(paths)
