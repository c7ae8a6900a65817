"""Writes an overlay directory with the operator `sweep.NAME`, a spec with versions of a kernel.

The overlay's spec is the operator's spec with a kernel per version before the original kernels,
which are renamed, because kernel names must be unique.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from spec_model import SpecError
from spec_model.errors import Position
from spec_model.load.single_spec import find_spec, single_spec_text
from spec_model.templates import BUILTIN_TEMPLATES, named_directory, open_templates

KEPT = "sweep_kept_"
# Keys that refer to calls of the original operator, or that only one spec may contain.
_NOT_COPIED = ("overloads", "executorch", "fused_from")

# Writes repeated values in full: specs do not support YAML aliases.
_DUMPER = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})


@dataclass(frozen=True, slots=True)
class Version:
    """A kernel of the overlay, and its changed params."""

    kernel: str
    params: Mapping[str, Any]

    @property
    def title(self) -> str:
        """E.g. `tile=[64, 64, 32] part=[32, 32]`."""
        return " ".join(f"{name}={value}" for name, value in self.params.items())


@dataclass(frozen=True, slots=True)
class Request:
    """`params`: name → values. `keys`: kernel key → text with {param} placeholders."""

    op: str  # short name
    kernel: str
    params: Mapping[str, Sequence[Any]]
    keys: Mapping[str, str]


def write_overlay(request: Request, specs: Path, directory: Path) -> list[Version]:
    """Writes the spec of the overlay. Raises SpecError for an unknown spec or kernel."""
    source = find_spec(request.op, named_directory(specs))
    if source is None:
        raise SpecError.at(Position(str(specs)), f"There is no spec of '{request.op}'.")
    templates = open_templates([BUILTIN_TEMPLATES])
    spec = yaml.safe_load(single_spec_text(source, request.op, templates))
    kernels = spec.pop("kernels", None) or [spec.pop("kernel")]
    base = _kernel(request, source.path, kernels)
    versions = list(versions_of(request))
    spec = {key: value for key, value in spec.items() if key not in _NOT_COPIED}
    spec["op"] = f"sweep.{request.op}"
    spec["kernels"] = [_changed(base, version, request.keys) for version in versions]
    spec["kernels"] += [_kept(request.op, kernel) for kernel in kernels]
    spec["tests"] = [test for test in spec["tests"] if "kernel" not in test]
    directory.mkdir(parents=True)
    text = yaml.dump(spec, Dumper=_DUMPER, sort_keys=False, width=1000)
    (directory / f"sweep_{request.op}.yaml").write_text(text, encoding="utf-8")
    for module in specs.glob("*/*.py"):
        copy = directory / module.relative_to(specs)
        copy.parent.mkdir(exist_ok=True)
        shutil.copyfile(module, copy)
    return versions


def versions_of(request: Request) -> Iterator[Version]:
    """All combinations of the values of the params."""
    combinations = product(*request.params.values())
    for i, values in enumerate(combinations):
        yield Version(f"sweep_{i}", dict(zip(request.params, values, strict=True)))


def _kernel(request: Request, path: Path, kernels: Sequence[Any]) -> Any:
    """The kernel with the requested name, whose prefix `<op>_` may be omitted."""
    accepted = (request.kernel, f"{request.op}_{request.kernel}")
    names = [kernel.get("name", request.op) for kernel in kernels]
    for name, kernel in zip(names, kernels, strict=True):
        if name in accepted:
            return kernel
    message = f"There is no kernel '{request.kernel}'; the spec has: {', '.join(names)}."
    raise SpecError.at(Position(str(path)), message)


def _changed(base: Any, version: Version, keys: Mapping[str, str]) -> Any:
    """The kernel with the params of the version, and the keys that depend on them."""
    kernel = deepcopy(base)
    kernel.pop("test_only", None)
    kernel["name"] = version.kernel
    kernel["params"] = {**kernel.get("params", {}), **version.params}
    for key, text in keys.items():
        try:
            kernel[key] = yaml.safe_load(text.format(**version.params))
        except (KeyError, IndexError, ValueError, TypeError, yaml.YAMLError) as error:
            message = f"'{text}' cannot be formatted with {version.title}: {error!r}."
            raise SpecError.at(Position(f"--key {key}"), message) from None
    return kernel


def _kept(stem: str, kernel: Any) -> Any:
    return {**kernel, "name": KEPT + kernel.get("name", stem)}
