"""The program in an archive (.pt2), read without torch."""

from __future__ import annotations

from pathlib import Path

from spirloom.errors import ImportFailure
from spirloom.torch.archive import EARLY, Archive, Weights
from spirloom.torch.archived_calls import argument, call_of, given_of, meta_of
from spirloom.torch.json_fields import Json
from spirloom.torch.program import Given, Input, Kind, Program, Range, Ref

# The schema's major version; torch raises it with every change that an old reader misunderstands.
MAJOR = 8
# Beyond it torch means "without bound".
_NO_BOUND = 1 << 60

_WEIGHTS = {
    "parameter": "parameter_name",
    "buffer": "buffer_name",
    "tensor_constant": "tensor_constant_name",
}
# What an output is besides one of the user's, and what names it.
_BUFFER_MUTATION = "buffer_mutation"
_MUTATIONS = {_BUFFER_MUTATION: "buffer_name", "user_input_mutation": "user_input_name",
              "parameter_mutation": "parameter_name"}  # fmt: skip


def read_archive(path: Path) -> Program:
    """The program that torch.export.save wrote. Raises ImportFailure."""
    archive = Archive(path)
    if archive.has(EARLY) or any(archive.names("data/weights/", ".pt")):
        raise ImportFailure(
            f"{path} has its weights as pickled objects of Python, which import does not run; "
            "PyTorch before 2.9 wrote such archives. Export it with 2.9 to 2.13, or in process "
            "with spirloom.torch.export."
        )
    if archive.has("byteorder") and archive.text("byteorder") != "little":
        raise ImportFailure(f"{path} is not of a little-endian machine; export it on one.")
    models = archive.names("models/", ".json")
    if len(models) != 1:
        raise ImportFailure(
            f"{path} has {len(models)} exported programs ({', '.join(models) or 'none'}); import "
            "takes archives of torch.export.save with one."
        )
    model = Json(archive.json(models[0]), f"{path}: {models[0]}: model")
    major = model.get("schema_version").get("major").whole()
    if major != MAJOR:
        raise ImportFailure(
            f"{path} is of version {major} of torch.export's format, and {MAJOR} is supported: "
            "export it with PyTorch 2.9 to 2.13, or in process with spirloom.torch.export."
        )
    module = model.get("graph_module")
    graph = module.get("graph")
    signature = module.get("signature")
    outputs, mutated, updates = _outputs(signature)
    return Program(
        where=str(path),
        inputs=tuple(_input(spec) for spec in signature.get("input_specs").items()),
        outputs=outputs,
        calls=tuple(call_of(node) for node in graph.get("nodes").items()),
        metas={name: meta_of(value) for name, value in graph.get("tensor_values").entries()},
        symbols={name: _range(r) for name, r in model.get("range_constraints").entries()},
        weights=Weights(archive, _entries(archive)),
        mutated=mutated,
        updates=updates,
        version=_version(model),
    )


def _version(model: Json) -> str:
    found = model.find("torch_version")
    return found.text().partition("+")[0] if found is not None else ""


def _entries(archive: Archive) -> dict[str, Json]:
    entries: dict[str, Json] = {}
    for folder in ("weights", "constants"):
        for name in archive.names(f"data/{folder}/", "_config.json"):
            config = Json(archive.json(name), f"{archive.path}: {name}")
            entries.update(config.get("config").entries())
    return entries


def _input(spec: Json) -> Input:
    kind, value = spec.only()
    if kind in _WEIGHTS:
        return Input(_name(value.get("arg")), Kind.WEIGHT, value.get(_WEIGHTS[kind]).text())
    if kind == "user_input":
        given = argument(value.get("arg"))
        if isinstance(given, Ref):
            return Input(given.name, Kind.USER)
        return Input("", Kind.USER, fixed=given)
    if kind == "constant_input":
        return Input(value.get("name").text(), Kind.USER, fixed=given_of(value.get("value")))
    return Input("", Kind.OTHER, kind)


def _outputs(signature: Json) -> tuple[tuple[Given, ...], tuple[str, ...], dict[str, Ref]]:
    outputs: list[Given] = []
    mutated: list[str] = []
    updates: dict[str, Ref] = {}
    for spec in signature.get("output_specs").items():
        kind, value = spec.only()
        if kind == "user_output":
            outputs.append(argument(value.get("arg")))
        elif kind in _MUTATIONS:
            mutated.append(value.get(_MUTATIONS[kind]).text())
            if kind == _BUFFER_MUTATION:
                updates[mutated[-1]] = Ref(_name(value.get("arg")))
        elif kind != "token":
            raise ImportFailure(f"{spec.place} is a {kind}, and only outputs are supported.")
    return tuple(outputs), tuple(mutated), updates


def _name(arg: Json) -> str:
    return arg.get("name").text()


def _range(constraint: Json) -> Range:
    least, greatest = (constraint.find(key) for key in ("min_val", "max_val"))
    ends = [None if e is None or not isinstance(e.value, int) else e.whole()
            for e in (least, greatest)]  # fmt: skip
    return Range(*(None if e is None or abs(e) >= _NO_BOUND else e for e in ends))
