"""The device in new, forked and ending processes, and in those of other versions of PyTorch."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import spirloom.torch_device.registration as registration
import torch
from spirloom.runtime.errors import Unsupported
from spirloom.torch_device import library

from tests.torch_device.conftest import Script


def test_the_device_is_opened_at_its_first_use(run_script: Script) -> None:
    done = run_script(
        "assert torch.vulkan.is_available() and torch.is_vulkan_available()\n"
        "torch.manual_seed(3); torch.vulkan.empty_cache(); torch.accelerator.synchronize()\n"
        "assert not torch.vulkan.is_initialized()\n"
        "torch.ones(2, device='vulkan')\n"
        "assert torch.vulkan.is_initialized()\n"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("built_for", "devices", "found"), [
    (None, 0, None), ("cuda", 0, None), ("cuda", 1, "cuda"), ("xpu", 2, "xpu"),
])  # fmt: skip
def test_an_accelerator_of_pytorch_is_kept(
    built_for: str | None, devices: int, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch cannot compute gradients on two accelerators in one process."""
    own = None if built_for is None else torch.device(built_for)
    module = SimpleNamespace(device_count=lambda: devices)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: own)
    monkeypatch.setattr(torch, "get_device_module", lambda device: module)
    assert registration.accelerator() == found
    registered = []
    monkeypatch.setattr(registration, "register", lambda: registered.append(True))
    registration.autoload()
    assert bool(registered) == (found is None)


def test_a_script_may_end_after_backward(run_script: Script) -> None:
    for _ in range(3):
        done = run_script(
            "x = torch.randn(100, 100, device='vulkan', requires_grad=True)\n"
            "x.register_hook(lambda g: g * 2)\n"
            "(x @ x).sum().backward()\n"
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_tensors_may_outlive_everything(run_script: Script) -> None:
    done = run_script("import sys; sys.kept = torch.ones(3, device='vulkan')")
    assert done.returncode == 0, done.stderr


FORK = """
import os
{before}
child = os.fork()
if child == 0:
    try:
        {action}
        os._exit(0)
    except RuntimeError as error:
        print(error, flush=True)
        os._exit(1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_asking_for_a_device_does_not_load_its_driver(run_script: Script) -> None:
    """Some drivers cannot be used in a process forked from one that has loaded them."""
    done = run_script(
        "assert torch.vulkan.is_available() and torch.is_vulkan_available()\n"
        "assert torch.accelerator.device_count() == torch.vulkan.device_count() == 1\n"
        "assert 'libvulkan' not in open('/proc/self/maps').read()\n"
    )
    assert done.returncode == 0, done.stderr
    ask = "assert torch.vulkan.is_available()"
    use = "assert torch.ones(2, device='vulkan').sum().item() == 2"
    done = run_script(FORK.format(before=ask, action=use))
    assert done.returncode == 0, done.stderr


def test_a_forked_process_refuses_an_open_device(run_script: Script) -> None:
    use = "x = torch.ones(2, device='vulkan')"
    done = run_script(FORK.format(before=use, action=f"del x; {use}"))
    assert done.returncode == 1
    assert "Vulkan drivers do not support that" in done.stdout
    assert "'spawn'" in done.stdout
    state = "assert torch.vulkan._is_in_bad_fork(); torch.manual_seed(1)"
    done = run_script(FORK.format(before=use, action=state))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_forked_process_may_open_the_device(run_script: Script) -> None:
    action = "assert torch.ones(2, device='vulkan').sum().item() == 2"
    done = run_script(FORK.format(before="torch.vulkan.is_available()", action=action))
    assert done.returncode == 0, done.stdout + done.stderr


def test_workers_of_a_data_loader(run_script: Script) -> None:
    done = run_script(
        "from torch.utils.data import DataLoader, TensorDataset\n"
        "torch.ones(1, device='vulkan')\n"
        "data = TensorDataset(torch.arange(8.0))\n"
        "loader = DataLoader(data, batch_size=4, num_workers=1, pin_memory=True)\n"
        "total = sum(x.to('vulkan').sum().item() for (x,) in loader)\n"
        "assert total == 28, total\n"
    )
    assert done.returncode == 0, done.stderr


def test_the_host_cannot_read_device_memory(run_script: Script) -> None:
    done = run_script(
        "import ctypes\n" "ctypes.string_at(torch.ones(2, device='vulkan').data_ptr(), 4)\n"
    )
    assert done.returncode == -11  # SIGSEGV, instead of other data


def test_strict_mode_names_the_operator_and_the_dtype(run_script: Script) -> None:
    done = run_script(
        "x = torch.ones(2, dtype=torch.float16).to('vulkan')\n"
        "assert x.cpu().sum().item() == 2\n"
        "torch.special.bessel_j0(x)\n",
        SPIRLOOM_STRICT="1",
    )
    assert done.returncode == 1
    assert "NotImplementedError: aten::special_bessel_j0" in done.stderr
    assert "(Half) would run on the CPU: it has no Vulkan kernel." in done.stderr
    assert "Unset SPIRLOOM_STRICT" in done.stderr


def test_calls_on_the_cpu_are_counted_and_named_once(run_script: Script) -> None:
    done = run_script(
        "x = torch.ones(2).to('vulkan')\n"
        "for _ in range(3): torch.special.bessel_j0(x)\n"
        "calls = torch.vulkan.cpu_calls()\n"
        "print(calls['aten::special_bessel_j0.out'])\n"
        "torch.vulkan.reset_cpu_calls()\n"
        "assert not torch.vulkan.cpu_calls()\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "CpuCalls(count=3, reason='it has no Vulkan kernel')\n"
    assert (
        len(re.findall(r"aten::special_bessel_j0.out \(Float\) runs on the CPU", done.stderr)) == 1
    )


def test_a_version_without_a_build_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("libspirloom_torch_2.13.so", "libspirloom_torch_2.9.so", "other.so"):
        (tmp_path / name).touch()
    monkeypatch.setattr(library, "directories", lambda: (tmp_path,))
    assert library.path_for("2.13.1+cpu") == tmp_path / "libspirloom_torch_2.13.so"
    with pytest.raises(Unsupported) as error:
        library.path_for("2.12.0")
    assert str(error.value).startswith(
        "The device 'vulkan' has no build for PyTorch 2.12.0: this package contains builds for "
        "PyTorch 2.9, 2.13. "
    )


def test_a_library_that_cannot_be_loaded_does_not_prevent_the_import_of_torch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    damaged = tmp_path / f"libspirloom_torch_{library.minor_version(torch.__version__)}.so"
    damaged.write_text("not a library")
    monkeypatch.setattr(library, "directories", lambda: (tmp_path,))
    monkeypatch.setattr(registration, "_registered", False)
    monkeypatch.setattr(torch._C, "_get_privateuse1_backend_name", lambda: registration._UNUSED)
    renamed: list[str] = []
    monkeypatch.setattr(torch.utils, "rename_privateuse1_backend", renamed.append)
    with pytest.raises(OSError, match=re.escape(str(damaged))):  # all versions name the file
        registration.register()
    registration.autoload()  # no error
    assert not renamed


def test_another_package_with_a_device_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "_registered", False)
    taken = SimpleNamespace(_get_privateuse1_backend_name=lambda: "npu")
    monkeypatch.setattr(torch, "_C", taken)
    with pytest.raises(Unsupported, match="Another package has registered the device 'npu'"):
        registration.register()
    registration.autoload()  # no error


def test_registering_twice_does_nothing() -> None:
    registration.register()
    assert registration.is_registered()
