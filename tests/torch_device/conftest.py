"""PyTorch's device `vulkan`. These tests run with a PyTorch for which the device is built
(`./dev test-torch`); other environments collect none.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PATHS = os.pathsep.join(path for path in sys.path if path)


def _is_built() -> bool:
    if find_spec("torch") is None:
        return False
    import torch
    from spirloom.torch_device import library

    return library.minor_version(torch.__version__) in library.builds()


collect_ignore_glob = [] if _is_built() else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    # Each operator on the CPU is named once per process (test_processes.py).
    config.addinivalue_line("filterwarnings", "ignore:.* runs on the CPU:UserWarning")


@pytest.fixture(scope="session", autouse=True)
def device() -> None:
    """Registers the device, and skips all tests without one."""
    import torch
    from spirloom.torch_device import register

    register()
    if not torch.vulkan.is_available():
        pytest.skip("No Vulkan device is available.")
    torch.set_num_threads(1)


Script = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_script() -> Script:
    """Runs a script in a new Python, which has registered the device, with these variables of the
    environment.
    """

    def run(text: str, **variables: str) -> subprocess.CompletedProcess[str]:
        head = "import torch\nfrom spirloom.torch_device import register\nregister()\n"
        environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1", **variables}
        return subprocess.run(
            [sys.executable, "-c", head + text], env=environment, capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip

    return run
