"""Exported programs and archives: names, sizes, bounds, and error messages with remedies."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure
from spirloom.inspect import to_text
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.runtime import WrongType
from spirloom.torch import decompose, export, export_methods, program_of
from spirloom.torch.archive import is_archive
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.options import Options
from spirloom.torch.values import exported_type

from tests.frontend.reference_run import run
from tests.torch.archives import needs_archives

LIBRARY = OpLibrary()


class Function(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Block(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(2))
        self.layers[1].weight = self.layers[0].weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.tanh(layer(x)) * x
        return x


def graph_of(module: torch.nn.Module, *args: Any, options: Any = None, raw: bool = False,
             **export_options: Any) -> Graph:  # fmt: skip
    exported = torch.export.export(module.eval(), args, strict=False, **export_options)
    program = program_of(exported if raw else decompose(exported, LIBRARY))
    return build(program, LIBRARY, options or Options())


def test_nodes_are_named_for_modules() -> None:
    graph = graph_of(Block(), torch.ones(2, 4))
    assert [n.name.partition(" ")[0] for n in graph.nodes if n.op == "aten.linear"] == [
        "layers.0",
        "layers.1",
    ]


def test_progress_is_reported() -> None:
    exported = torch.export.export(Block().eval(), (torch.ones(2, 4),), strict=False)
    program = program_of(decompose(exported, LIBRARY))
    lines: list[str] = []
    build(program, LIBRARY, Options(), report=lines.append)
    count = len(program.calls)
    assert lines[:count] == [f"call {i} of {count}" for i in range(1, count + 1)]
    assert "finish" in lines[count:]


def test_nodes_have_the_lines_of_their_source(tmp_path: Path) -> None:
    """The user's lines, not PyTorch's: in the file, its description and the device's profile; not
    with `strip`.
    """
    written = tmp_path / "net.slg"
    export(Block(), (torch.ones(2, 4),), output=written)
    graph = graph_reader.load(written)
    locations = {graph.source_of(node) for node in graph.nodes}
    assert len(locations) == 1  # also of the linear layers: the line that calls them
    assert all(re.fullmatch(r"torch/test_import.py:\d+", p or "") for p in locations)
    assert "at torch/test_import.py:" in to_text(graph, LIBRARY, nodes=True)
    rows = spirloom.load(written, profile=True).profile({"x": np.ones((2, 4), np.float32)})
    assert any("at torch/test_import.py:" in row.node for row in rows)
    stripped = export(Block(), (torch.ones(2, 4),), strip=True)
    assert b".py:" in written.read_bytes() and b".py:" not in stripped


def test_tied_weights_are_stored_once() -> None:
    graph = graph_of(Block(), torch.ones(2, 4))
    weights = {n.args[1] for n in graph.nodes if n.op == "aten.linear"}
    assert len(weights) == 1


@needs_archives
def test_export_and_archive_give_equal_bytes(tmp_path: Path) -> None:
    x, block = torch.ones(2, 4), Block().eval()
    torch.export.save(decompose(torch.export.export(block, (x,)), LIBRARY), tmp_path / "net.pt2")
    archived = build(read_archive(tmp_path / "net.pt2"), LIBRARY, Options())
    written = tmp_path / "net.slg"
    export(block, (x,), output=written)
    assert export(block, (x,)) == graph_file.to_bytes(archived)
    assert written.read_bytes() == graph_file.to_bytes(archived)


def test_in_place_operators_become_functions() -> None:
    """torch.export.save writes in-place operators without run_decompositions."""
    module = Function(lambda x: (x * 2).add_(1).relu_() - 1)
    graph = graph_of(module, torch.tensor([1.0, -3.0]), raw=True)
    assert run(graph, {graph.inputs[0].name: np.array([1, -3], np.float32)}).popitem()[
        1
    ].tolist() == [2, -1]


def test_writing_a_tensor_with_another_view_is_refused() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        view = y.view(-1)
        y.add_(1)
        return view

    with pytest.raises(ImportFailure, match=r"run_decompositions\(\{\}\)"):
        graph_of(Function(function), torch.ones(2, 2), raw=True)
    graph = graph_of(Function(function), torch.ones(2, 2))
    assert run(graph, {graph.inputs[0].name: np.ones((2, 2), np.float32)}).popitem()[1].max() == 3


def test_all_unsupported_nodes_are_listed_with_locations() -> None:
    module = Function(lambda x: (torch.rand(2) + x, torch.special.bessel_j0(x)))
    with pytest.raises(ImportFailure) as caught:
        graph_of(module, torch.ones(2))
    text = str(caught.value)
    assert "aten.rand" in text and "random values" in text
    assert "aten.special_bessel_j0" in text and "test_import.py" in text


def test_a_size_that_depends_on_data_is_refused() -> None:
    with pytest.raises(ImportFailure, match=r"aten.*unique.*depends on the data.*test_import.py"):
        graph_of(Function(lambda x: x.unique()), torch.ones(3))


def test_a_cast_that_wraps_is_refused() -> None:
    """The device computes int16 in int32, which holds values that PyTorch wraps."""
    cast = Function(lambda x: (x * 5000).to(torch.int16).float())
    for bound, is_exact in ((6, True), (7, False)):
        options = Options.of({}, {"args_0": (0, bound)})
        x = torch.full((2,), bound, dtype=torch.int32)
        if is_exact:
            assert run(graph_of(cast, x, options=options), {"args_0": x.numpy()})
            continue
        with pytest.raises(ImportFailure, match="is int16 and is only known to be in 0..35000"):
            graph_of(cast, x, options=options)


def test_as_strided_requires_a_contiguous_tensor() -> None:
    """torch's strides refer to its own memory; the device's layout may differ."""
    of_dense = Function(lambda x: (x + 1).as_strided((2, 2), (1, 2)))
    of_transposed = Function(lambda x: (x + 1).t().as_strided((2, 2), (1, 2)))
    x = torch.arange(4.0).reshape(2, 2)
    (given,) = run(graph_of(of_dense, x), {"args_0": x.numpy()}).values()
    assert given.tolist() == of_dense(x).tolist()
    exported = torch.export.export(of_transposed, (x,))
    with pytest.raises(ImportFailure, match="the layout of 't', which is not contiguous"):
        build(program_of(exported), LIBRARY, Options())


@needs_archives
def test_as_strided_in_an_archive(tmp_path: Path) -> None:
    transposed = Function(lambda x: (x + 1).t().as_strided((2, 2), (1, 2)))
    torch.export.save(torch.export.export(transposed, (torch.ones(2, 2),)), tmp_path / "net.pt2")
    with pytest.raises(ImportFailure, match="the layout of 't', which is not contiguous"):
        build(read_archive(tmp_path / "net.pt2"), LIBRARY, Options())


def test_an_input_may_be_a_constant() -> None:
    module, x = Function(lambda x, mask: torch.where(mask > 0, x, 0.0)), torch.ones(2, 3)
    mask = np.array([[1, 0, 1]])
    program = program_of(torch.export.export(module, (x, torch.ones(1, 3, dtype=torch.int64))))
    names = [given.name for given in program.inputs]
    graph = build(program, LIBRARY, Options(fixed={names[1]: mask}))
    assert [t.name for t in graph.inputs] == names[:1]
    (given,) = run(graph, {names[0]: x.numpy()}).values()
    assert given.tolist() == [[1, 0, 1]] * 2
    for wrong, message in ((mask[0], r"shape \[3\]"), (mask / 2, "int64")):
        with pytest.raises(ImportFailure, match=message):
            build(program, LIBRARY, Options(fixed={names[1]: wrong}))
    with pytest.raises(ImportFailure, match="--constant-input other: no such input"):
        build(program, LIBRARY, Options(fixed={"other": mask}))


def test_numbers_of_the_signature_become_constants_with_a_warning(tmp_path: Path) -> None:
    module = Function(lambda x, factor, flag, none: x * factor + flag)
    args = (torch.ones(2), 3.5, True, None)
    with pytest.warns(UserWarning, match="is the Python number") as caught:
        data = export(module, args)
    found = [str(warning.message) for warning in caught if "Python number" in str(warning.message)]
    assert [re.sub("'.*'", "''", text).split(":")[0] for text in found] == [
        "Input '' is the Python number 3.5",
        "Input '' is the Python number True",
    ]
    (path := tmp_path / "net.slg").write_bytes(data)
    assert len(graph_reader.load(path).inputs) == 1


def test_the_message_about_an_unknown_operator_names_a_remedy_that_helps(tmp_path: Path) -> None:
    """Programs in process are decomposed already; an archive may not be."""
    exported = torch.export.export(Function(torch.special.airy_ai), (torch.ones(2),), strict=False)
    with pytest.raises(ImportFailure, match="no operator for it") as caught:
        export(exported)
    assert "decompos" not in str(caught.value)
    torch.export.save(exported, tmp_path / "net.pt2")
    with pytest.raises(ImportFailure, match=r"spirloom.torch.decompose\(exported\)"):
        build(read_archive(tmp_path / "net.pt2"), LIBRARY, Options())


def test_symbols_are_those_of_the_program() -> None:
    dims = ({0: torch.export.Dim("batch", min=1, max=6)},)
    graph = graph_of(Block(), torch.ones(2, 4), dynamic_shapes=dims)
    assert [(s.min, s.max) for s in graph.symbols] == [(1, 6)]


def read(data: bytes) -> Graph:
    return graph_reader.read_methods(memoryview(data), "net.slg")[0]


class Nested(torch.nn.Module):  # type: ignore[misc]
    def forward(self, first: Any, *, rest: Any, scale: int = 2) -> Any:
        return first.sum(0) * scale + rest["a"].sum(0) + rest["b"][0].sum(0)


def test_sizes_have_the_names_of_the_dims() -> None:
    """Also in containers, of keyword arguments, and of several dimensions that are equal."""
    batch, length = (torch.export.Dim(name, min=1, max=9) for name in ("batch", "length"))
    args, kwargs = (torch.ones(2, 3),), {"rest": {"a": torch.ones(4, 3), "b": [torch.ones(2, 3)]}}
    shapes = {"first": {0: batch}, "rest": {"a": (length, None), "b": [{0: batch}]}}
    (graph,) = graph_reader.read_methods(
        memoryview(export(Nested(), args, kwargs, dynamic_shapes=shapes)), "g"
    )
    assert {s.name for s in graph.symbols} == {"batch", "length"}
    assert [str(x.shape[0]) for x in graph.inputs] == ["batch", "length", "batch"]
    data = export_methods(Block(), {"forward": ((torch.ones(2, 4),), ({0: batch},))})
    assert [s.name for s in graph_reader.read_methods(memoryview(data), "g")[0].symbols] == [
        "batch"
    ]
    swapped = {"rest": kwargs["rest"], "first": args[0]}  # not in the order of the signature
    graph = read(export(Nested(), (), swapped, dynamic_shapes=shapes))
    assert [str(x.shape[0]) for x in graph.inputs] == ["length", "batch", "batch"]
    every = torch.export.ShapesCollection()
    every[args[0]] = every[kwargs["rest"]["b"][0]] = (batch, None)
    every[kwargs["rest"]["a"]] = (length, None)
    assert len(read(export(Nested(), args, kwargs, dynamic_shapes=every)).symbols) == 2
    derived = ({0: torch.export.Dim("half", min=1, max=4) * 2},)
    graph = read(export(Block(), (torch.ones(4, 4),), dynamic_shapes=derived))
    assert [s.name for s in graph.symbols] == ["half"]


def test_arguments_are_a_tuple() -> None:
    with pytest.raises(TypeError, match=r"it is a tensor. Pass \(tensor,\)"):
        export(Block(), torch.ones(2, 4))  # type: ignore[arg-type]


def test_training_mode_is_the_only_reason() -> None:
    """Batch norm counts its batches in int64, which is not reported."""
    layers = (torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout())
    with pytest.raises(ImportFailure, match="1 of .* nodes cannot be imported") as caught:
        export(torch.nn.Sequential(*layers), (torch.ones(3, 4),))
    assert "call eval() on the module before exporting" in str(caught.value)
    assert "int64" not in str(caught.value)


def test_a_size_without_a_maximum_needs_an_option() -> None:
    dims = ({0: torch.export.Dim("batch")},)
    with pytest.raises(ImportFailure, match=r"has no maximum.*--dim") as caught:
        graph_of(Block(), torch.ones(2, 4), dynamic_shapes=dims)
    name = str(caught.value).partition("maximum for ")[2].split()[0]
    options = Options.of({name: (1, 5)}, {})
    graph = graph_of(Block(), torch.ones(2, 4), dynamic_shapes=dims, options=options)
    assert [s.max for s in graph.symbols] == [5]


def test_indices_have_the_bounds_of_their_table() -> None:
    table = torch.nn.Embedding(11, 3)
    graph = graph_of(table, torch.tensor([[1, 2]]))
    bounds = graph.inputs[0].bounds
    assert bounds is not None and (bounds.low, bounds.high) == (-11, 10)


def test_possible_integer_overflow_is_refused() -> None:
    ids = torch.tensor([1, 2])
    with pytest.raises(ImportFailure, match="--range"):
        graph_of(Function(lambda x: x * x), ids)
    program = program_of(decompose(torch.export.export(Function(lambda x: x * x), (ids,)), LIBRARY))
    (name,) = (given.name for given in program.inputs)
    build(program, LIBRARY, Options.of({}, {name: (0, 100)}))


TABLE = torch.arange(36.0).view(12, 3)
UNPROVEN = {
    "sum": lambda x: x + 1,
    "product": lambda x: x * 2,
    "count": lambda x: x.sum(),
    "positions": lambda x: x.cumsum(0) - 1,
    "embedding": lambda x: torch.nn.functional.embedding(x + 1, TABLE),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_int64_results_may_be_assumed_to_be_int32(name: str) -> None:
    """The message names the switch; with it, results are those of PyTorch."""
    module, ids = Function(UNPROVEN[name]), torch.tensor([1, 0, 10, 4])
    with pytest.raises(ImportFailure, match=r"--assume-int32 \(assume_int32=True in Python\)"):
        export(module, (ids,))
    model = spirloom.load(export(module, (ids,), assume_int32=True))
    (found,) = model(ids.numpy().astype(np.int32))
    np.testing.assert_array_equal(found, module(ids).numpy())


def damaged(path: Path, change: Any, tmp_path: Path) -> Path:
    """A copy of an archive with a changed model.json."""
    out = tmp_path / "damaged.pt2"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            data = source.read(info)
            if info.filename.endswith("models/model.json"):
                model = json.loads(data)
                change(model)
                data = json.dumps(model).encode()
            target.writestr(info.filename, data)
    return out


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "block.pt2"
    torch.export.save(torch.export.export(Block(), (torch.ones(2, 4),)), path)
    return path


@needs_archives
def test_another_major_version_is_refused(archive: Path, tmp_path: Path) -> None:
    def change(model: Any) -> None:
        model["schema_version"]["major"] = 9

    with pytest.raises(ImportFailure, match=r"version 9 .* 8 is supported"):
        read_archive(damaged(archive, change, tmp_path))


@needs_archives
def test_damage_is_located(archive: Path, tmp_path: Path) -> None:
    def change(model: Any) -> None:
        del model["graph_module"]["graph"]["nodes"][0]["inputs"]

    with pytest.raises(ImportFailure, match=r"graph_module\.graph\.nodes\[0\]\.inputs' is missing"):
        read_archive(damaged(archive, change, tmp_path))


@needs_archives
def test_weights_end_within_the_file(archive: Path, tmp_path: Path) -> None:
    """Sizes in an archive's configuration are compared with the available bytes."""
    out = tmp_path / "short.pt2"
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            data = source.read(info)
            short = info.filename.endswith("weights/weight_0")
            target.writestr(info.filename, data[:8] if short else data)
    with pytest.raises(ImportFailure, match="needs 64 bytes at offset 0, but there are 8"):
        build(read_archive(out), LIBRARY, Options())


@pytest.mark.parametrize(
    "members",
    [
        ["serialized_exported_program.json", "serialized_state_dict.pt", "version"],
        ["net/models/model.json", "net/data/weights/model.pt", "net/archive_version"],
    ],
    ids=["2.6", "2.8"],
)
def test_archives_of_old_releases(members: list[str], tmp_path: Path) -> None:
    path = tmp_path / "early.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, "{}")
    assert is_archive(path)
    with pytest.raises(ImportFailure, match=r"PyTorch before 2.9. .* spirloom.torch.export"):
        read_archive(path)


class Halving(torch.nn.Module):  # type: ignore[misc]
    """Convolutions that halve the size of images."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            *(torch.nn.Conv2d(3, 3, 3, stride=2, padding=1) for _ in range(2))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).flatten(2)


def test_inputs_whose_sizes_are_multiples_of_a_symbol() -> None:
    torch.manual_seed(0)
    module, size = Halving().eval(), 4 * torch.export.Dim("size", min=1, max=5)
    shapes = ({2: size, 3: size},)
    model = spirloom.load(export(module, (torch.randn(1, 3, 8, 8),), dynamic_shapes=shapes))
    for side in (20, 8, 12):
        x = torch.randn(1, 3, side, side)
        with torch.no_grad():
            wanted = module(x).numpy()
        np.testing.assert_allclose(model(x.numpy())[0], wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"\(9\) of input 'x' is not '4\*\w+' for"):
        model(np.zeros((1, 3, 9, 9), np.float32))


def test_element_types_of_archives_are_those_of_torch() -> None:
    from torch._export.serde.serialize import _TORCH_TO_SERIALIZE_DTYPE

    ids = {int(code): str(dtype) for dtype, code in _TORCH_TO_SERIALIZE_DTYPE.items()}
    found = {code: exported_type(code) for code in ids}
    unknown = {code for code, name in found.items() if name == f"with id {code}"}
    assert {code: f"torch.{found[code]}" for code in ids.keys() - unknown} == {
        code: name for code, name in ids.items() if code not in unknown
    }
    assert {"torch.float32", "torch.bfloat16", "torch.int64", "torch.complex64", "torch.bool"} <= {
        ids[code] for code in ids.keys() - unknown
    }


@needs_archives
def test_booleans_of_an_archive_are_zero_or_one(tmp_path: Path) -> None:
    """The bytes of a damaged archive may be others."""

    class Choice(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("choice", torch.tensor([True, False, True]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = torch.where(self.choice, x, -x)
            return found

    path, other = tmp_path / "net.pt2", tmp_path / "other.pt2"
    torch.export.save(torch.export.export(Choice(), (torch.ones(3),)), path)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for info in source.infolist():
            data = source.read(info)
            is_weight = "data/" in info.filename and data[:3] == b"\1\0\1"
            target.writestr(info.filename, b"\7\0\x80" + data[3:] if is_weight else data)
    assert b"\7\0\x80" in other.read_bytes()
    equal, changed = (
        graph_file.to_bytes(build(read_archive(each), LIBRARY, Options())) for each in (path, other)
    )
    assert equal == changed


def test_attachments(tmp_path: Path) -> None:
    module, x, path = torch.nn.ReLU(), torch.ones(2), tmp_path / "net.slg"
    export(module, (x,), output=path, attachments={"classes.txt": b"cat"})
    assert graph_reader.load(path).attachments == {"classes.txt": b"cat"}
    methods = {"a": ((x,), None), "b": ((x,), None)}
    path.write_bytes(export_methods(module, methods, attachments={"classes.txt": b"dog"}))
    assert graph_reader.load_methods(path)[0].attachments == {"classes.txt": b"dog"}
    with pytest.raises(ImportFailure, match="The name of an attachment must have 1 to 255 bytes"):
        export(module, (x,), attachments={"": b""})


def test_a_tensor_of_another_type_is_refused_in_words_of_torch() -> None:
    graph = graph_of(Block(), torch.ones(2, 4))
    model = spirloom.load(graph_file.to_bytes(graph))
    remedy = r"the tensor has dtype int64. Convert it: tensor\.to\(torch\.float32\)"
    with pytest.raises(WrongType, match=remedy):
        model(torch.ones(2, 4, dtype=torch.int64))
