"""Reads a model and the files about it, and writes the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spec_model.files import write_atomically
from spirloom import graph_reader
from spirloom.errors import ImportFailure, writing
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.profile_file import ProfileFile, read_profile
from spirloom.report import kernels, model_data
from spirloom.report.page import page_of


@dataclass(frozen=True, slots=True)
class Sources:
    """Further files of a report, or None; `method` None: that of the profile, or the first."""

    profile: Path | None = None
    errors: Path | None = None
    partition: Path | None = None
    method: str | None = None
    glsl: bool = False


def write_report(model: Path, output: Path, sources: Sources) -> int:
    """Writes the page. Returns its size in bytes. Raises ImportFailure."""
    text = page_of(report_data(model, sources))
    encoded = text.encode("utf-8", errors="replace")
    with writing(output):
        write_atomically(output, encoded)
    return len(encoded)


def report_data(model: Path, sources: Sources, library: OpLibrary | None = None) -> dict[str, Any]:
    """The data of the page. Raises ImportFailure if the profile is of another model."""
    profile = None if sources.profile is None else read_profile(sources.profile)
    method = sources.method
    if method is None and profile is not None:
        method = profile.method or None
    graph = _method(model, method)
    if profile is not None:
        _check(graph, profile, model)
    errors = {} if sources.errors is None else model_data.read_errors(sources.errors)
    title = model.name + (f", {graph.name}" if graph.name else "")
    data = model_data.data_of(graph, title, profile, errors, library)
    if sources.partition is not None:
        data["partition"] = model_data.read_partition(sources.partition)
    if profile is not None:
        data["kernels"] = kernels.facts_of({d.variant for d in profile.dispatches}, sources.glsl)
    return data


def _method(model: Path, method: str | None) -> Graph:
    graphs = graph_reader.load_methods(model)
    if method is None:
        return graphs[0]
    for graph in graphs:
        if graph.name == method:
            return graph
    names = ", ".join(graph.name for graph in graphs)
    raise ImportFailure(f"{model} has no method '{method}'. It has: {names}.")


def _check(graph: Graph, profile: ProfileFile, model: Path) -> None:
    names = {node.name for node in graph.nodes}
    unknown = [each.node for each in profile.dispatches if each.node not in names]
    if len(unknown) * 2 > len(profile.dispatches):
        raise ImportFailure(
            f"{profile.path} is a profile of another model: {model} has no node "
            f"'{unknown[0]}'. Record it with this model."
        )
