"""spirloom.torch.compile: runs the supported calls of a module on the device."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.op_library import OpLibrary
from spirloom.torch.export import exported_of
from spirloom.torch.options import Options

if TYPE_CHECKING:
    from spirloom.partition import Costs, Report
    from spirloom.runtime.runtime import Runtime, StorageName
    from spirloom.torch.exported_module import ExportedModule, SizedModule
    from spirloom.torch.segments import CompileSettings


_warned = False


def wants_gradients(values: Iterable[Any]) -> bool:
    """Whether torch would record gradients of these values."""
    import torch

    return torch.is_grad_enabled() and any(
        isinstance(value, torch.Tensor) and value.requires_grad for value in values
    )


def warn_once() -> None:
    """Warns about unsupported gradients, on the first call only."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "Spirloom supports inference only. PyTorch runs this call eagerly, because it requires "
            "gradients. Call the module under torch.no_grad() or torch.inference_mode().",
            stacklevel=3,
        )


def reset_warning() -> None:
    """Makes the next warn_once() warn again."""
    global _warned
    _warned = False


# Maximum number of cached signatures; each has its own copy of the weights.
_MAX_SIGNATURES = 8


def compile(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    fp16: bool = False,
    keep_float32: Sequence[str] = (),
    assume_int32: bool = False,
    spec_dirs: Sequence[str | Path] = (),
    runtime: Runtime | None = None,
    storage: StorageName = "auto",
    costs: Costs | None = None,
) -> Compiled:
    """Compiles `module`: supported calls run on the device, others in PyTorch.

    args, kwargs    example arguments
    dynamic_shapes  as of torch.export; other shapes are exported on first use
    ranges          bounds of int64 inputs, by name
    fp16            compute in float16, except where values may leave its range
    keep_float32    patterns of the names of nodes that stay float32 with fp16
    assume_int32    whether all results of int64 operators fit in int32
    runtime         default: the runtime of spirloom.load()
    costs           of computation and transfers, for the partition

    `.report` describes the partition. Raises the errors of torch.export, and Unavailable.
    """
    from spirloom.partition import Costs
    from spirloom.torch.segments import CompileSettings

    settings = CompileSettings(
        library=OpLibrary.with_dirs([Path(directory) for directory in spec_dirs]),
        options=Options.of(
            {}, ranges or {}, fp16, keep_float32=keep_float32, assume_int32=assume_int32
        ),
        runtime=runtime,
        storage=storage,
        costs=costs or Costs(),
    )
    return Compiled(module, args, kwargs or {}, dynamic_shapes, settings)


class Compiled:
    """A compiled module. Calls that require gradients, or in another mode (training, evaluation)
    than at compilation, run in PyTorch."""

    def __init__(
        self,
        module: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        dynamic_shapes: Any,
        settings: CompileSettings,
    ) -> None:
        self._module = module
        self._settings = settings
        self._training = getattr(module, "training", False)
        self._ready: dict[Hashable, SizedModule] = {}
        self._exported = [self._export(args, kwargs, dynamic_shapes)]
        key, leaves = signature(args, kwargs)
        self._last = self._prepared(key, leaves, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The module's result for these arguments."""
        if self._runs_in_torch(args, kwargs):
            return self._module(*args, **kwargs)
        key, leaves = signature(args, kwargs)
        ready = self._ready.get(key) or self._prepared(key, leaves, args, kwargs)
        self._last = ready
        return ready(leaves)

    def train(self, mode: bool = True) -> Compiled:
        """Sets the module's mode. Only the mode at compilation runs on the device."""
        self._module.train(mode)
        return self

    def eval(self) -> Compiled:
        """The same as train(False)."""
        return self.train(False)

    @property
    def report(self) -> Report:
        """The partition for the arguments of the last call."""
        return self._last.report

    def __getattr__(self, name: str) -> Any:
        """The attribute of the module."""
        if name == "_module":  # during copying
            raise AttributeError(name)
        return getattr(self._module, name)

    def __repr__(self) -> str:
        return f"<spirloom.torch.Compiled {type(self._module).__name__}>"

    def _runs_in_torch(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        import torch

        if getattr(self._module, "training", False) is not self._training:
            return True
        if not torch.is_grad_enabled():
            return False
        parameters = self._module.parameters() if self._training else ()
        if wants_gradients((*args, *kwargs.values(), *parameters)):
            warn_once()
            return True
        return False

    def _prepared(
        self, key: Hashable, leaves: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> SizedModule:
        """Prepares the module for a new signature."""
        from spirloom.torch.exported_module import SizedModule

        found = next((e for e in self._exported if e.fits(leaves, args, kwargs)), None)
        if found is None:
            found = self._export(args, kwargs, None)
            self._exported.append(found)
        if len(self._ready) >= _MAX_SIGNATURES:
            self._ready.pop(next(iter(self._ready)))
        self._ready[key] = SizedModule(found, leaves)
        return self._ready[key]

    def _export(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic_shapes: Any
    ) -> ExportedModule:
        from spirloom.torch.exported_module import ExportedModule

        exported = exported_of(self._module, args, dict(sorted(kwargs.items())), dynamic_shapes)
        return ExportedModule(exported, self._settings, self._ready.clear)


def signature(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Hashable, Sequence[Any]]:
    """The signature of a call, by which preparations are cached, and its arguments' leaves."""
    import torch

    names = sorted(kwargs)
    leaves: Sequence[Any] = (*args, *(kwargs[name] for name in names))
    structure = ""
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        named = {name: kwargs[name] for name in names}
        leaves, spec = torch.utils._pytree.tree_flatten((tuple(args), named))
        structure = repr(spec)
    kinds = tuple((v.shape, v.dtype) if isinstance(v, torch.Tensor) else repr(v) for v in leaves)
    return (structure, len(args), *names, *kinds), leaves
