"""spirloom-executor-runner: a C++ program that runs .pte files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from executorch.devtools import Inspector

from tests.executorch.partitioned import PartitionedProgram
from tests.executorch.programs import Lowered
from tests.executorch.test_networks import Net

ROOT = Path(__file__).resolve().parents[2]
RUNNER = ROOT / "build/release/bin/spirloom-executor-runner"


def call(*arguments: str | Path, code: int = 0) -> str:
    """The runner's output, standard output first."""
    done = subprocess.run([RUNNER, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of both partitioners with a CPU kernel between delegates; an input, its result."""
    directory = tmp_path_factory.mktemp("runner")
    torch.manual_seed(2)
    net, x = Net().eval(), torch.randn(1, 3, 16, 16)
    for name, kind in (("vulkan", Lowered), ("partitioned", PartitionedProgram)):
        (directory / f"{name}.pte").write_bytes(kind(net, (x,)).buffer)
    for name, value in (("x", x), ("one", net(torch.ones_like(x))), ("y", net(x))):
        value.detach().numpy().tofile(directory / f"{name}.bin")
    return directory


@pytest.mark.parametrize("name", ["vulkan", "partitioned"])
def test_runs_with_files_and_ones(directory: Path, name: str, tmp_path: Path) -> None:
    cases: list[tuple[list[str], str]] = [(["--inputs", f"{directory}/x.bin"], "y"), ([], "one")]
    for inputs, expected in cases:
        text = call(
            f"--model_path={directory}/{name}.pte", *inputs,
            "--num_executions=3", "--output_file", tmp_path / "out",
        )  # fmt: skip
        assert "Model executed successfully 3 time(s) in " in text
        assert "Output 0: tensor(sizes=[1, 5], [0." in text
        found = np.fromfile(tmp_path / "out-0.bin", np.float32)
        np.testing.assert_allclose(found, np.fromfile(directory / f"{expected}.bin", np.float32),
                                   rtol=1e-5, atol=1e-6)  # fmt: skip


def test_writes_an_etdump(directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.etdp"
    text = call("--model_path", directory / "vulkan.pte", "--etdump_path", path)
    assert f"ETDump written to {path} ({path.stat().st_size} bytes)." in text
    names = {event.name for block in Inspector(etdump_path=str(path)).event_blocks
             for event in block.events}  # fmt: skip
    assert "Method::execute" in names
    assert any(name.startswith("et_vk.conv_with_clamp #") for name in names)


def test_backend_options(directory: Path) -> None:
    program = ("--model_path", directory / "vulkan.pte")
    call(*program, "--backend_option", "device=0", "--backend_option", "memory_limit_mib=512")
    for option, message in (
        ("device=no such device", "no such device"),
        ("libraries=/no/such.slpack", "/no/such.slpack"),
        ("memory_limit_mib=-1", "'memory_limit_mib' (-1) is negative"),
        ("memory_limit_mib=much", "'memory_limit_mib' is not an int"),
        ("autotune=3", "'autotune' is not a bool"),
        (f"libraries=/{'a' * 1000}", "has 1001 characters; ExecuTorch allows"),
        (f"{'a' * 1000}=1", "has 1000 characters; ExecuTorch allows"),
        ("speed=3", "the options are autotune, device, libraries and memory_limit_mib"),
    ):
        assert message in call(*program, "--backend_option", option, code=1)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--help"], 0, "usage: spirloom-executor-runner --model_path FILE.pte"),
        (["--speed=3"], 2, "--speed is not a flag"),
        (["--num_executions=0"], 2, "--num_executions is '0'; expected a number above 0"),
        (["--model_path"], 2, "--model_path has no value"),
        (["--model_path=/no/such.pte"], 1, "Loading /no/such.pte failed with"),
        (["--model_path={}/vulkan.pte", "--inputs={}/y.bin"], 1, "bytes; the input has 3072"),
        (["--model_path={}/vulkan.pte", "--inputs=/no"], 1, "Cannot open '/no'"),
        (["--model_path={}/vulkan.pte", "--inputs={}/x.bin,b"], 1, "--inputs names 2 files"),
        (["--model_path={}/vulkan.pte", "--method_name=other"], 1, "Loading the method other"),
    ],
)
def test_messages(directory: Path, arguments: list[str], code: int, message: str) -> None:
    assert message in call(*(argument.format(directory) for argument in arguments), code=code)
