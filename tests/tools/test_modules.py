"""Every module of a pack is validated; messages name the variants."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tools.pack_files import pack
from tools.modules import __main__ as modules
from tools.modules.spirv_val import find_or_download, violation

# A multiply-add of 16 x 16 matrices with operands of a type; %product has the operands in order.
TEXT = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpCapability {capabilities}
OpExtension "SPV_KHR_vulkan_memory_model"
OpExtension "SPV_KHR_cooperative_matrix"
{extension}
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 32 1 1
%void = OpTypeVoid
%signature = OpTypeFunction %void
%uint = OpTypeInt 32 0
%uint_0 = OpConstant %uint 0
%uint_1 = OpConstant %uint 1
%uint_2 = OpConstant %uint 2
%uint_16 = OpConstant %uint 16
%subgroup = OpConstant %uint 3
%operand = OpTypeFloat 16 {encoding}
%float = OpTypeFloat 32
%type_a = OpTypeCooperativeMatrixKHR %operand %subgroup %uint_16 %uint_16 %uint_0
%type_b = OpTypeCooperativeMatrixKHR %operand %subgroup %uint_16 %uint_16 %uint_1
%type_c = OpTypeCooperativeMatrixKHR %float %subgroup %uint_16 %uint_16 %uint_2
%a = OpConstantNull %type_a
%b = OpConstantNull %type_b
%c = OpConstantNull %type_c
%zero = OpConstantNull %operand
{declaration}
%main = OpFunction %void None %signature
%label = OpLabel
%product = OpCooperativeMatrixMulAddKHR %type_c {operands} %c
{statement}
OpReturn
OpFunctionEnd
"""
HALF = {"capabilities": "Float16", "extension": "", "encoding": ""}
BFLOAT16 = {
    "capabilities": "BFloat16TypeKHR\nOpCapability BFloat16CooperativeMatrixKHR",
    "extension": 'OpExtension "SPV_KHR_bfloat16"',
    "encoding": "BFloat16KHR",
}


@pytest.fixture(scope="module")
def validator() -> Sequence[str]:
    if not (modules.UNPACKED / "usr/bin/spirv-val").exists():
        pytest.skip("needs the spirv-val that `./dev check modules` downloads")
    return find_or_download(modules.UNPACKED)


def assembled(
    validator: Sequence[str],
    operand: dict[str, str],
    operands: str = "%a %b",
    declaration: str = "",
    statement: str = "",
) -> bytes:
    text = TEXT.format(**operand, operands=operands, declaration=declaration, statement=statement)
    program = str(Path(validator[-1]).with_name("spirv-as"))
    command = [*validator[:-1], program, "--target-env", "vulkan1.1", "-", "-o", "-"]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout


def test_matrices_and_bfloat16_are_valid(
    validator: Sequence[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "valid.slpack"
    kinds = {"half": assembled(validator, HALF), "bfloat16": assembled(validator, BFLOAT16)}
    path.write_bytes(pack(kinds))
    assert modules.check(validator, path)
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.startswith("valid.slpack: 2 of 2 modules are valid (SPIRV-Tools v")


@pytest.mark.parametrize(
    ("operand", "broken", "message"),
    [
        (HALF, {"operands": "%b %a"}, "Cooperative matrix type must be A Type"),
        (
            HALF,
            {"declaration": "%n = OpSpecConstantOp %uint CooperativeMatrixLengthNV %type_a"},
            "must be OpTypeCooperativeMatrixNV",
        ),
        (BFLOAT16, {"statement": "%sum = OpFAdd %operand %zero %zero"}, "BFloat16"),
    ],
    ids=["flipped operands", "length of NV", "arithmetic of bfloat16"],
)
def test_a_broken_module_is_reported_with_its_variants(
    validator: Sequence[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    operand: dict[str, str],
    broken: dict[str, str],
    message: str,
) -> None:
    path = tmp_path / "broken.slpack"
    names = ("linear_coopmat_f16", "mm_coopmat_f16")
    code = assembled(validator, operand, **broken)
    path.write_bytes(pack({"valid": assembled(validator, operand), **dict.fromkeys(names, code)}))
    assert not modules.check(validator, path)
    captured = capsys.readouterr()
    for name in names:
        (line,) = (line for line in captured.err.splitlines() if line.startswith(name))
        assert message in line
    assert "broken.slpack: 1 of 3 modules are valid" in captured.out


def fake_validator(directory: Path, commands: str) -> list[str]:
    path = directory / "spirv-val"
    path.write_text(f"#!/bin/sh\n{commands}\n", encoding="utf-8")
    path.chmod(0o755)
    return [str(path)]


def test_the_target_is_that_of_the_variant(tmp_path: Path) -> None:
    """The module is the standard input."""
    path = tmp_path / "some.slpack"
    path.write_bytes(pack({"add": b"SPIR-V of add"}))
    (module,) = modules.read_modules(path)
    validator = fake_validator(tmp_path, 'echo "$@: $(cat)"; exit 1')
    assert (
        violation(validator, module.code, module.target)
        == "--target-env vulkan1.1 -: SPIR-V of add"
    )


def test_a_crash_is_no_pass(tmp_path: Path) -> None:
    crashing = fake_validator(tmp_path, "exit 7")
    assert violation(crashing, b"", "vulkan1.1") == "spirv-val ended with 7."


def test_a_module_of_many_variants_lists_some() -> None:
    module = modules.Module(tuple(f"add_{i}" for i in range(7)), "vulkan1.1", b"")
    assert module.name == "add_0, add_1, add_2, add_3 and 3 more"


def test_unreadable_packs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    validator = fake_validator(tmp_path, "echo SPIRV-Tools v1")
    monkeypatch.setattr(modules, "find_or_download", lambda _: validator)
    assert modules.main([str(tmp_path / "none.slpack")]) == 2
    assert "modules: Cannot read '" in capsys.readouterr().err
    damaged = tmp_path / "damaged.slpack"
    damaged.write_bytes(b"SLP")
    assert modules.main([str(damaged)]) == 2
    assert "is not a shader pack" in capsys.readouterr().err
