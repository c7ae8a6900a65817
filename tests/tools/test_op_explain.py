"""spirloom op explain."""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom.cli import main

LINEAR = ("op", "explain", "linear", "--shapes", "x: [197, 768], weight: [3072, 768]")


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def rejected(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 1
    return capsys.readouterr().err


def test_conditions_have_values(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, *LINEAR, "--dtype", "f16", "--device", "h100")
    assert text.startswith("aten.linear f16 on h100\nKernels considered in storage buffer")
    assert "  linear_gemv: cannot compute the call\n    when: row_count == 1" in text
    assert "depth = 768, row_count = 197" in text
    assert "  linear_coopmat_128x128: possible, not preferred\n    prefer: row_count > 8" in text
    assert "cores = 132, row_count = 197, tiles_128x128 = 48" in text
    assert "  linear_coopmat_64x64: taken\n" in text
    assert "not considered after it: linear_coopmat_32x32, " in text
    page = Path(__file__).resolve().parents[2] / "docs/how-to/tune.md"
    dispatches = [line for line in text.splitlines() if line.startswith("Dispatch: ")]
    assert dispatches[-1] == "Dispatch: linear_coopmat_64x64_f16_buffer, 192 workgroups of 128x1x1"
    assert "\n".join(dispatches) in page.read_text(encoding="utf-8")


def test_devices_lack_capabilities(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, *LINEAR, "--dtype", "f16", "--device", "mali-g57")
    needed = "linear_coopmat_128x128_f16_buffer requires cooperative_matrix, shared_memory_48k"
    assert f"linear_coopmat_128x128: not possible: {needed.partition(',')[0]}" in text
    assert "linear_tiled_64x64: possible, not preferred" in text  # 64 registers an invocation
    assert "linear_tiled_scalar_32x32: taken" in text
    text = explained(capsys, *LINEAR, "--dtype", "f16", "--device", "android-2025")
    assert "linear_tiled_scalar_64x64: taken" in text  # without 16-bit storage
    norm = "{x: [2, 8, 4, 4], weight: [8], bias: [8], running_mean: [8], running_var: [8]}"
    text = explained(
        capsys, "op", "explain", "batch_norm", "--shapes", norm, "--device", "guaranteed"
    )
    assert "6 storage buffers, above this device's limit (4)" in text
    assert "Dispatch: batch_norm_f32_texture3d" in text
    call = ("op", "explain", "aten.relu", "--shapes", "{x: [100000000]}")
    text = explained(capsys, *call, "--device", "guaranteed")
    assert "The device cannot compute the call: Size (400000000) of tensor 'x' exceeds" in text


def test_loops_and_storages(capsys: pytest.CaptureFixture[str]) -> None:
    call = ("op", "explain", "aten.logsumexp", "--shapes", "{x: [1, 3000000], dim: [1]}")
    text = explained(capsys, *call, "--device", "llvmpipe")
    assert "logsumexp_wg1024: taken" in text
    assert "iterations; the device ends them after 65535" in text
    texture = ("--storage", "texture3d", "--device", "h100")
    text = explained(capsys, "op", "explain", "relu", "--shapes", "x: [1, 4, 5, 6]", *texture)
    assert "in storage texture3d" in text


def test_the_device_of_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, *LINEAR)
    assert text.startswith("aten.linear f32 on ")
    assert ": taken\n" in text and "Dispatch: linear_" in text


def test_a_file_of_devices(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "devices.yaml"
    file.write_text(
        "small: {vulkan_minor: 1, properties: {cores: 1}, capabilities: [subgroup_basic]}\n"
        "large: {vulkan_minor: 3, properties: {cores: 99}, capabilities: [subgroup_basic]}\n"
    )
    text = explained(capsys, *LINEAR, "--device", str(file))
    assert "aten.linear f32 on small\n" in text and "aten.linear f32 on large\n" in text
    file.write_text("small: {properties: {cores: 1, speed: 3}}\n")
    message = rejected(capsys, *LINEAR, "--device", str(file))
    assert "Device small: 'speed' is not a device property." in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no_such", "--shapes", "x: [1]"), "Operator 'no_such' has no spec. `spirloom ops`"),
        (("conv2d", "--shapes", "x: [1]"), "Kernels of this name belong to aten.convolution"),
        (("sofmax", "--shapes", "x: [1]"), "Did you mean 'softmax'?"),
        (("relu", "--shapes", "y: [1]"), "Key 'y' is unknown in a test case"),
        (("relu", "--shapes", "x: [1"), "--shapes: Malformed YAML while parsing a flow sequence"),
        (("relu", "--shapes", "x: [1]", "--dtype", "f99"), "'f99' is not a valid DType."),
        (("relu", "--shapes", "x: [1]", "--storage", "tape"), "'tape' is not a valid Storage."),
        (("relu", "--shapes", "x: [1]", "--device", "abacus"), "Device 'abacus' is not described"),
        (("relu", "--shapes", "x: [1]", "--device", "none.yaml"), "Cannot read none.yaml: No such"),
        (("mm", "--shapes", "a: [1, 2], b: [3, 4]"), "This is not a valid call of aten.mm: "),
    ],
)
def test_invalid_calls(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in rejected(capsys, "op", "explain", *arguments)
