"""What an export chooses: options of the partitioner, compile specs of programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from spirloom.interval import Interval
from spirloom.ir import Storage
from spirloom.partition import Costs

# ExecuTorch's portable kernels compute one number after the other on one thread: next to that,
# copies cost little, and the device takes whatever it can.
PORTABLE = Costs(host_flops=1e9, host_bytes=2e9)
# What Vulkan asks of every device.
MIN_BUFFER = 1 << 27


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Options of `SpirloomPartitioner`.

    force_fp16              what lies between inputs and outputs is float16
    require_dynamic_shapes  what cannot take every size stays; if False, a delegate of it takes the
                            greatest sizes alone, and refuses others when it runs
    storage                 of all tensors: "buffer", "texture3d" or "texture2d"; "auto": by device
    states                  buffers that runs change and one delegate alone reads and writes are
                            its; if False, ExecuTorch's, as sharing them between methods needs
    ranges                  the numbers between which int64 inputs of the program lie, by name
    buffer_limit            how many bytes one buffer of the device holds
    costs                   of work in the host and on the device, and of copies between them
    operator_allowlist      operators that may go, by name ("aten.relu") or as torch.ops has them
    operator_blocklist      operators that stay
    nn_module_allowlist     modules whose calls may go: by path ("layers.0"), or part of the class
    nn_module_blocklist     modules whose calls stay
    """

    force_fp16: bool = False
    require_dynamic_shapes: bool = True
    storage: str = "auto"
    states: bool = True
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    buffer_limit: int = MIN_BUFFER
    costs: Costs = PORTABLE
    operator_allowlist: Collection[Any] | None = None
    operator_blocklist: Collection[Any] = ()
    nn_module_allowlist: Collection[str] | None = None
    nn_module_blocklist: Collection[str] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> CompileOptions:
        """Raises ValueError naming an option that there is not, or a storage."""
        known = [option.name for option in fields(cls)]
        for name in options:
            if name not in known:
                near = get_close_matches(name, known, 1) or known
                raise ValueError(f"There is no compile option '{name}': is it {', '.join(near)}?")
        return cls(**options).checked()

    def checked(self) -> CompileOptions:
        """Raises ValueError for a storage that there is not."""
        if self.storage != "auto" and self.storage not in tuple(Storage):
            known = ", ".join(("auto", *Storage))
            raise ValueError(f"The compile option 'storage' ('{self.storage}') is none of {known}.")
        return self

    def specs(self) -> dict[str, bytes]:
        """Those that building a delegate needs, as ExecuTorch keeps them in programs."""
        found = {"storage": self.storage.encode()}
        for name in ("force_fp16", "require_dynamic_shapes"):
            found[name] = bytes([getattr(self, name)])
        if self.ranges:
            found["ranges"] = json.dumps(
                {n: list(ends) for n, ends in self.ranges.items()}
            ).encode()
        return found

    @classmethod
    def of_specs(cls, specs: Iterable[tuple[str, bytes]]) -> CompileOptions:
        """The options that specs() keeps. Raises ValueError as of()."""
        options: dict[str, Any] = {}
        for name, value in specs:
            match name:
                case "storage":
                    options[name] = value.decode()
                case "ranges":
                    options[name] = {n: tuple(ends) for n, ends in json.loads(value).items()}
                case _:
                    options[name] = any(value)
        return cls.of(options)

    @property
    def fixed_storage(self) -> Storage | None:
        """The storage of all tensors, if one is chosen."""
        return None if self.storage == "auto" else Storage(self.storage)

    def intervals(self, names: Iterable[str]) -> dict[str, Interval]:
        """The ranges of those inputs that are among names."""
        return {name: Interval(*self.ranges[name]) for name in names if name in self.ranges}
