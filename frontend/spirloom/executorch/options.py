"""Export options: options of the partitioner and compile specs of programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from spec_model.interval import Interval
from spirloom.ir import Storage
from spirloom.op_library import OpLibrary
from spirloom.partition import Costs
from spirloom.torch.options import Options

# ExecuTorch's portable kernels are scalar and single-threaded. Copies are cheap compared
# with them, so the device runs all supported nodes.
PORTABLE = Costs(host_flops=1e9, host_bytes=2e9)
# The minimum of maxStorageBufferRange that Vulkan guarantees.
MIN_BUFFER_LIMIT = 1 << 27


@cache
def _library(directories: tuple[Path, ...]) -> OpLibrary:
    return OpLibrary.with_dirs(directories)


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Options of `SpirloomPartitioner`.

    force_fp16              computes in float16; inputs and outputs keep their dtypes
    keep_float32            names of nodes that stay float32 with force_fp16, with * and ?
    require_dynamic_shapes  nodes without support for dynamic shapes run on the host; if False, a
                            delegate with such a node accepts only the maximum sizes
    storage                 of all tensors: "buffer", "texture3d" or "texture2d"; "auto": by device
    states                  a mutable buffer that only one delegate uses is stored in the delegate;
                            if False, in ExecuTorch's memory, as sharing between methods requires
    ranges                  bounds of the values of int64 inputs, by name
    buffer_limit            maximum size of a device buffer in bytes
    costs                   of computation on host and device, and of transfers
    operator_allowlist      operators that may run on the device: names ("aten.relu") or torch.ops
    operator_blocklist      operators that run on the host
    spec_dirs               directories with specs of further operators, for calls of their names
                            (torch.library); a program that runs it opens their shader library
    nn_module_allowlist     modules that may run on the device: paths ("layers.0") or class names
    nn_module_blocklist     modules that run on the host
    """

    force_fp16: bool = False
    keep_float32: Collection[str] = ()
    require_dynamic_shapes: bool = True
    storage: str = "auto"
    states: bool = True
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    buffer_limit: int = MIN_BUFFER_LIMIT
    costs: Costs = PORTABLE
    operator_allowlist: Collection[Any] | None = None
    operator_blocklist: Collection[Any] = ()
    spec_dirs: Sequence[str | Path] = ()
    nn_module_allowlist: Collection[str] | None = None
    nn_module_blocklist: Collection[str] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> CompileOptions:
        """Validates options. Raises ValueError for an unknown option or storage."""
        known = [option.name for option in fields(cls)]
        for name in options:
            if name not in known:
                near = get_close_matches(name, known, 1) or known
                raise ValueError(
                    f"Unknown compile option '{name}'. Did you mean {', '.join(near)}?"
                )
        return cls(**options).checked()

    def checked(self) -> CompileOptions:
        """Returns self. Raises ValueError for an unknown storage, and for keep_float32 that has no
        effect.
        """
        if isinstance(self.keep_float32, str):
            raise ValueError(
                "The compile option 'keep_float32' must be a list of names, not the text "
                f"'{self.keep_float32}'."
            )
        if self.keep_float32 and not self.force_fp16:
            raise ValueError("The compile option 'keep_float32' requires 'force_fp16'.")
        if self.storage != "auto" and self.storage not in tuple(Storage):
            known = ", ".join(("auto", *Storage))
            raise ValueError(
                f"The compile option 'storage' ('{self.storage}') is not one of: {known}."
            )
        return self

    def specs(self) -> dict[str, bytes]:
        """The options that SpirloomBackend.preprocess() requires, as compile specs."""
        found = {"storage": self.storage.encode()}
        for name in ("force_fp16", "require_dynamic_shapes"):
            found[name] = bytes([getattr(self, name)])
        if self.keep_float32:
            found["keep_float32"] = json.dumps(list(self.keep_float32)).encode()
        if self.spec_dirs:
            found["spec_dirs"] = json.dumps([str(path) for path in self.spec_dirs]).encode()
        if self.ranges:
            found["ranges"] = json.dumps(
                {n: list(ends) for n, ends in self.ranges.items()}
            ).encode()
        return found

    @classmethod
    def of_specs(cls, specs: Iterable[tuple[str, bytes]]) -> CompileOptions:
        """The inverse of specs(). Raises ValueError as of()."""
        options: dict[str, Any] = {}
        for name, value in specs:
            match name:
                case "storage":
                    options[name] = value.decode()
                case "spec_dirs" | "keep_float32":
                    options[name] = tuple(json.loads(value))
                case "ranges":
                    options[name] = {n: tuple(ends) for n, ends in json.loads(value).items()}
                case _:
                    options[name] = any(value)
        return cls.of(options)

    def library(self) -> OpLibrary:
        """The operators, with those of `spec_dirs`."""
        return _library(tuple(Path(directory) for directory in self.spec_dirs))

    @property
    def fixed_storage(self) -> Storage | None:
        """The storage of all tensors; None: "auto"."""
        return None if self.storage == "auto" else Storage(self.storage)

    def of_inputs(self, names: Iterable[str]) -> Options:
        """The import options of a program whose inputs are `names`."""
        ranges = {name: Interval(*self.ranges[name]) for name in names if name in self.ranges}
        return Options(ranges=ranges, fp16=self.force_fp16, keep_float32=tuple(self.keep_float32))
