"""torch.vulkan: the functions of the device, named as those of torch.cuda.

There is one device, `vulkan:0`, which the environment variable SPIRLOOM_DEVICE selects. Arguments
`device` are None, an index, "vulkan" or torch.device("vulkan").
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import torch
from torch import Event as Event
from torch import Stream as Stream

_functions = torch.ops.spirloom_vulkan


def is_available() -> bool:
    """Whether this machine has a Vulkan device. Does not open it."""
    return bool(_functions.is_available())


def is_initialized() -> bool:
    """Whether this process has opened the device."""
    return bool(_functions.is_open())


def init() -> None:
    """Opens the device. Otherwise its first use does."""
    _functions.device_name()


def _is_in_bad_fork() -> bool:
    return bool(_functions.is_forked())


def device_count() -> int:
    """1 if there is a device, otherwise 0."""
    return int(is_available())


def current_device() -> int:
    """The index of the current device: 0."""
    return 0


def set_device(device: Any) -> None:
    """Selects the current device, `vulkan:0`."""
    torch.accelerator.set_device_index(_index(device))


class device:  # the name that PyTorch requires
    """A context in which the device is the current one."""

    def __init__(self, device: Any = None) -> None:
        self.idx = _index(device)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None


def _index(device: Any) -> int:
    if device is None:
        return 0
    index = device if isinstance(device, int) else (torch.device(device).index or 0)
    if index not in (0, -1):
        raise RuntimeError(
            f"The device index is {index}, and there is one device: 'vulkan:0'. The environment "
            "variable SPIRLOOM_DEVICE selects it."
        )
    return 0


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """Properties of the device."""

    name: str  # "NVIDIA H100 PCIe"
    total_memory: int  # bytes of the largest heap of the device


def get_device_name(device: Any = None) -> str:
    """The name that the driver reports."""
    _index(device)
    return str(_functions.device_name())


def get_device_properties(device: Any = None) -> DeviceProperties:
    """The name and the memory of the device."""
    return DeviceProperties(get_device_name(device), mem_get_info(device)[1])


def synchronize(device: Any = None) -> None:
    """Waits for all work on the device."""
    _index(device)
    _functions.synchronize()


def current_stream(device: Any = None) -> Any:
    """The current stream of this thread."""
    return torch.accelerator.current_stream(_index(device))


def set_stream(stream: Any) -> None:
    """Makes the stream the current one of this thread."""
    torch.accelerator.set_stream(stream)


def stream(stream: Any) -> Any:
    """A context in which the stream is the current one."""
    return stream


# ---- Memory


def empty_cache() -> None:
    """Waits for all work, and releases the memory that no tensor uses."""
    torch.accelerator.empty_cache()


def memory_stats(device: Any = None) -> Any:
    """Statistics by name, as of torch.cuda: "allocated_bytes.all.peak"."""
    return torch.accelerator.memory_stats(_index(device))


def memory_allocated(device: Any = None) -> int:
    """Bytes of the memory of tensors."""
    return int(torch.accelerator.memory_allocated(_index(device)))


def max_memory_allocated(device: Any = None) -> int:
    """The maximum of memory_allocated() since the last reset_peak_memory_stats()."""
    return int(torch.accelerator.max_memory_allocated(_index(device)))


def memory_reserved(device: Any = None) -> int:
    """Bytes of device memory that this process holds, for tensors and for later ones."""
    return int(torch.accelerator.memory_reserved(_index(device)))


def max_memory_reserved(device: Any = None) -> int:
    """The maximum of memory_reserved() since the last reset_peak_memory_stats()."""
    return int(torch.accelerator.max_memory_reserved(_index(device)))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Sets the maxima to the current values."""
    torch.accelerator.reset_peak_memory_stats(_index(device))


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Sets the sums of allocated and freed memory to zero."""
    torch.accelerator.reset_accumulated_memory_stats(_index(device))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of the device's memory."""
    free, total = torch.accelerator.get_memory_info(_index(device))
    return int(free), int(total)


# ---- Random numbers


def default_generator() -> Any:
    """The torch.Generator of calls that name none."""
    return _functions.default_generator()


def manual_seed(seed: int) -> None:
    """Sets the seed of the default generator; torch.manual_seed() does as well."""
    default_generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """manual_seed() for all devices."""
    manual_seed(seed)


def seed() -> int:
    """Sets a random seed, and returns it."""
    return int(default_generator().seed())


def seed_all() -> None:
    """seed() for all devices."""
    seed()


def initial_seed() -> int:
    """The current seed."""
    return int(default_generator().initial_seed())


def get_rng_state(device: Any = None) -> Any:
    """The state of the default generator, a tensor of bytes on the CPU."""
    _index(device)
    return default_generator().get_state()


def get_rng_state_all() -> list[Any]:
    """The states of all devices."""
    return [get_rng_state()]


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Sets the state of the default generator."""
    _index(device)
    default_generator().set_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    """Sets the states of all devices."""
    for state in new_states:
        set_rng_state(state)


def get_amp_supported_dtype() -> list[Any]:
    """The dtypes of torch.autocast("vulkan")."""
    return [torch.float16, torch.bfloat16]


# ---- Operators on the CPU


@dataclass(frozen=True, slots=True)
class CpuCalls:
    """The calls of an operator that ran on the CPU, and why."""

    count: int
    reason: str


def cpu_calls() -> dict[str, CpuCalls]:
    """Operators without a Vulkan kernel that this process has called, by name:
    "aten::add.Tensor". SPIRLOOM_STRICT=1 makes such calls an error.
    """
    names, counts, reasons = _functions.cpu_calls()
    return {
        name: CpuCalls(count, reason)
        for name, count, reason in zip(names, counts, reasons, strict=True)
    }


def reset_cpu_calls() -> None:
    """Sets the counts to zero."""
    _functions.reset_cpu_calls()


def finish() -> None:
    """Waits for the device and for PyTorch's backward threads; called when Python ends."""
    if not is_initialized() or _is_in_bad_fork():
        return
    _functions.finish_backward()
    synchronize()
