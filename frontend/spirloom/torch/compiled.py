"""spirloom.torch.compile: a module whose calls run on the device where it supports them."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.ops import OpLibrary
from spirloom.torch.export import exported_of
from spirloom.torch.options import Options

if TYPE_CHECKING:
    from spirloom.partition import Costs, Report
    from spirloom.runtime.runtime import Runtime, StorageName
    from spirloom.torch.exported_module import ExportedModule, Sized
    from spirloom.torch.segments import Setting


_told = False


def wants_gradients(values: Iterable[Any]) -> bool:
    """Whether torch would record what becomes of these values."""
    import torch

    return torch.is_grad_enabled() and any(
        isinstance(value, torch.Tensor) and value.requires_grad for value in values
    )


def warn_once() -> None:
    """A warning, with the first call only."""
    global _told
    if not _told:
        _told = True
        warnings.warn(
            "Spirloom computes inference only, and gradients are asked for here: PyTorch runs it "
            "eagerly. Call it under torch.no_grad() or torch.inference_mode().",
            stacklevel=3,
        )


def warn_again() -> None:
    """The next call of tell_once() warns again."""
    global _told
    _told = False


# For so many signatures what was prepared is kept: each has its own copy of the weights.
_KEPT = 8


def compile(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
    fp16: bool = False,
    spec_dirs: Sequence[str | Path] = (),
    runtime: Runtime | None = None,
    storage: StorageName = "auto",
    costs: Costs | None = None,
) -> Compiled:
    """A callable that computes what `module` does: on the device what it can, else in PyTorch.

    args, kwargs    an example of what it is called with
    dynamic_shapes  torch.export's; other shapes are exported when they first come
    ranges          the numbers between which int64 inputs lie, by name
    runtime         None: the one that spirloom.load() has
    costs           of work and transfers, which say what is worth its transfers

    `.report` says what goes where. Raises what torch.export raises, and Unavailable.
    """
    from spirloom.partition import Costs
    from spirloom.torch.segments import Setting

    setting = Setting(
        library=OpLibrary.with_dirs([Path(folder) for folder in spec_dirs]),
        options=Options.of({}, ranges or {}, fp16),
        runtime=runtime,
        storage=storage,
        costs=costs or Costs(),
    )
    return Compiled(module, args, kwargs or {}, dynamic_shapes, setting)


class Compiled:
    """A compiled module. Gradients, and the mode that it was not compiled in, are PyTorch's."""

    def __init__(
        self,
        module: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        dynamic_shapes: Any,
        setting: Setting,
    ) -> None:
        self._module = module
        self._setting = setting
        self._training = getattr(module, "training", False)
        self._ready: dict[Hashable, Sized] = {}
        self._exported = [self._export(args, kwargs, dynamic_shapes)]
        key, leaves = signature(args, kwargs)
        self._last = self._prepared(key, leaves, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives for these arguments."""
        if self._is_torchs(args, kwargs):
            return self._module(*args, **kwargs)
        key, leaves = signature(args, kwargs)
        ready = self._ready.get(key) or self._prepared(key, leaves, args, kwargs)
        self._last = ready
        return ready(leaves)

    def train(self, mode: bool = True) -> Compiled:
        """Sets the module's mode. Only that which it was compiled in runs on the device."""
        self._module.train(mode)
        return self

    def eval(self) -> Compiled:
        """The same as train(False)."""
        return self.train(False)

    @property
    def report(self) -> Report:
        """What went where for the arguments that it was called with last."""
        return self._last.report

    def __getattr__(self, name: str) -> Any:
        """The module's own."""
        if name == "_module":  # while it is copied
            raise AttributeError(name)
        return getattr(self._module, name)

    def __repr__(self) -> str:
        return f"<spirloom.torch.Compiled {type(self._module).__name__}>"

    def _is_torchs(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
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
    ) -> Sized:
        """For arguments of a signature that has not come before."""
        from spirloom.torch.exported_module import Sized

        found = next((e for e in self._exported if e.fits(leaves, args, kwargs)), None)
        if found is None:
            found = self._export(args, kwargs, None)
            self._exported.append(found)
        if len(self._ready) >= _KEPT:
            self._ready.pop(next(iter(self._ready)))
        self._ready[key] = Sized(found, leaves)
        return self._ready[key]

    def _export(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic_shapes: Any
    ) -> ExportedModule:
        from spirloom.torch.exported_module import ExportedModule

        exported = exported_of(self._module, args, dict(sorted(kwargs.items())), dynamic_shapes)
        return ExportedModule(exported, self._setting, self._ready.clear)


def signature(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Hashable, Sequence[Any]]:
    """What calls of one preparation have in common, and the leaves of the arguments."""
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
