"""Selection by name, YAML file and filters; dependencies; every message."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from codegen.select.select import Selectors, select
from spec_model import Library, load_library
from spec_model.errors import SpecError
from spec_model.vocabulary import DType

DTYPES = ", ".join(DType)

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def library() -> Library:
    """The project's own operators."""
    return load_library([ROOT / "op_specs"], [ROOT / "templates/glsl"])


def kept(library: Library, *ops: str, **selectors: Iterable[str]) -> list[str]:
    """The ids of the selected variants, sorted."""
    given = {name: tuple(values) for name, values in selectors.items()}
    selection = select(library, Selectors(ops=ops, **given))  # type: ignore[arg-type]
    return sorted(id for ids in selection.variants.values() for id in ids)


def message(library: Library, selectors: Selectors) -> str:
    """The error message of the selectors."""
    with pytest.raises(SpecError) as error:
        select(library, selectors)
    return str(error.value)


def yaml_file(directory: Path, text: str) -> Path:
    path = directory / "ops.yaml"
    path.write_text(text, encoding="utf-8")
    return path


BUFFER_F32 = {"dtypes": ["f32"], "storages": ["buffer"]}


@pytest.mark.parametrize("name", ["mul", "aten.mul.Tensor", "m?l", "aten.mul.*"])
def test_an_op_has_several_names(library: Library, name: str) -> None:
    assert kept(library, name, **BUFFER_F32) == ["mul_f32_buffer"]


def test_names_of_kernels_and_variants(library: Library) -> None:
    pack = "pack_linear_weight_f32_buffer"
    assert kept(library, "linear_tiled_8x8", **BUFFER_F32) == ["linear_tiled_8x8_f32_buffer", pack]
    assert kept(library, "linear_tiled_8x8_f32_buffer") == ["linear_tiled_8x8_f32_buffer", pack]
    ids = kept(library, "linear_*[dv]_*", **BUFFER_F32)
    assert {"linear_tiled_8x8_f32_buffer", "linear_gemv_generic_f32_buffer", pack} <= set(ids)
    assert all(id.startswith(("linear_", "pack_")) for id in ids)


def test_selectors_are_a_union(library: Library, tmp_path: Path) -> None:
    file = yaml_file(tmp_path, "ops:\n  tanh: {dtypes: [f32], storages: [buffer]}\n")
    selection = select(library, Selectors(ops=("erf_f32_buffer",), ops_yaml=(file,)))
    assert [v.id for v in selection.kept(library)] == ["erf_f32_buffer", "tanh_f32_buffer"]


def test_a_yaml_file_may_be_a_list(library: Library, tmp_path: Path) -> None:
    file = yaml_file(tmp_path, "ops: [tanh, ceil]\n")
    selection = select(library, Selectors(ops_yaml=(file,), storages=("buffer",)))
    assert selection.variants.keys() >= {"aten.tanh", "aten.ceil"}


def test_a_view_of_a_buffer_has_no_kernel(library: Library) -> None:
    selection = select(library, Selectors(ops=("view", "tanh"), storages=("buffer",)))
    assert selection.variants["aten.view"] == set()
    assert "view_f32_texture3d" in kept(library, "view", dtypes=["f32"])
    assert "view_f32_buffer" not in kept(library, "view", dtypes=["f32"])


def test_f16_has_f32_only_at_inputs_outputs_and_in_partial_results(library: Library) -> None:
    partial = ("cumprod_split_f16", "cumsum_split_f16", "partial_reduce_f16")
    two = kept(library, dtypes=["f16"], storages=["buffer", "texture3d"])
    assert [id for id in two if "f32" in id and not id.startswith(partial)] == [
        "copy_f32_buffer_texture3d",
        "copy_f32_texture3d_buffer",
        *(
            f"to_copy_{first}_{source}_{second}_{target}"
            for first, second in (("f16", "f32"), ("f32", "f16"))
            for source in ("buffer", "texture3d")
            for target in ("buffer", "texture3d")
        ),
    ]
    buffers = kept(library, dtypes=["f16"], storages=["buffer"])
    assert [id for id in buffers if "f32" in id and not id.startswith(partial)] == [
        "to_copy_f16_buffer_f32_buffer",
        "to_copy_f32_buffer_f16_buffer",
    ]


def test_f32_buffers_need_neither_casts_nor_copies(library: Library) -> None:
    assert not [id for id in kept(library, "linear", **BUFFER_F32) if "copy" in id]


def test_textures_need_copies_of_their_dtypes(library: Library) -> None:
    assert kept(library, "tanh", dtypes=["f32"], storages=["texture3d"]) == [
        "copy_f32_buffer_texture3d",
        "copy_f32_texture3d_buffer",
        "tanh_f32_texture3d",
    ]


def test_fused_ops_are_selected_with_their_parts(library: Library) -> None:
    ids = kept(library, "sigmoid", "mul", **BUFFER_F32)
    fused = ["fused_elementwise_f32_buffer", "silu_f32_buffer"]
    assert ids == sorted(["mul_f32_buffer", "sigmoid_f32_buffer", *fused])
    assert kept(library, "sigmoid", **BUFFER_F32) == ["sigmoid_f32_buffer"]
    ids = kept(library, "sigmoid", "mul", "erf", **BUFFER_F32)
    assert "fused_elementwise_f32_buffer" in ids, "a subset of its parts"


def test_parts_of_fused_ops_exist(library: Library) -> None:
    for op in library.ops.values():
        assert library.ops.keys() >= set(op.fused_from), op.name


def test_packing_ops_have_the_kept_dtypes(library: Library) -> None:
    ids = kept(library, "linear", dtypes=["f16"], storages=["buffer"])
    packs = [id for id in ids if id.startswith("pack")]
    assert packs == ["pack_linear_weight_f16_buffer", "pack_row_tiles_f16_buffer"]


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (
            Selectors(ops=("relu6", "convolutoin"), prefix="SPIRLOOM_"),
            "SPIRLOOM_OPS: error: 'convolutoin' is not an op, kernel or variant of the specs. "
            "Did you mean convolution or convolution_i8 or aten.convolution?\n"
            "SPIRLOOM_OPS: error: 'relu6' is not an op, kernel or variant of the specs. "
            "Did you mean relu or prelu or elu?",
        ),
        (
            Selectors(ops=("xyzzy*",)),
            "OPS: error: 'xyzzy*' is not an op, kernel or variant of the specs.",
        ),
        (
            Selectors(dtypes=("f61",)),
            f"DTYPES: error: DType 'f61' is not one of: {DTYPES}. " "Did you mean f16?",
        ),
        (
            Selectors(ops=("tanh",), dtypes=("i32",), storages=("buffer",)),
            "OPS: error: 'tanh' has no variant with dtypes i32; storages buffer; available: ",
        ),
    ],
)
def test_messages(library: Library, selectors: Selectors, expected: str) -> None:
    assert message(library, selectors).startswith(expected)


def test_storages_have_nearest_spellings(library: Library) -> None:
    text = message(library, Selectors(storages=("textrue3d",), prefix="SPIRLOOM_"))
    assert text.startswith("SPIRLOOM_STORAGES: error: Storage 'textrue3d' is not one of: buffer, ")
    assert "Did you mean texture3d" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "ops: [tanh, tahn]",
            ":1:13: error: 'tahn' is not an op, kernel or variant of the specs. ",
        ),
        ("ops:\n  tanh: {dtype: [f32]}", ":2:10: error: Key 'dtype' is unknown in the limits of "),
        ("ops:\n  tanh: {dtypes: [f31]}", ":2:19: error: DType 'f31' is not one of: f32, f16, "),
        ("ops:\n  tanh: {dtypes: [u8]}", ":2:3: error: 'tanh' has no variant with dtypes u8; "),
        ("ops: tanh", ":1:6: error: 'ops' must be a list of ops, or a map from ops to "),
        ("op: [tanh]", ":1:1: error: Key 'op' is unknown in a selection; known keys are: ops."),
    ],
)
def test_yaml_messages(library: Library, tmp_path: Path, text: str, expected: str) -> None:
    file = yaml_file(tmp_path, text)
    text = message(library, Selectors(ops_yaml=(file,)))
    assert text.startswith(f"OPS_YAML: {file}{expected}")


def test_a_missing_yaml_file(library: Library, tmp_path: Path) -> None:
    text = message(library, Selectors(ops_yaml=(tmp_path / "none.yaml",)))
    assert text.startswith(f"OPS_YAML: {tmp_path / 'none.yaml'}: error: Cannot be read: No such ")
