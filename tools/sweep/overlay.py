"""A spec's kernel in several versions: an operator of its own, `sweep.NAME`, in an overlay folder.

The overlay's spec is the operator's, with a kernel for each version before its own kernels. Those
keep the spec whole, under other names, as kernels' names are unique.
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

from codegen import SpecError
from codegen.errors import Position

KEPT = "sweep_kept_"
# What names calls of the operator itself, or may stand in one spec alone.
_NOT_COPIED = ("also", "executorch", "fused_from")

# Repeats what stands in several places: specs have no aliases.
_DUMPER = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})


@dataclass(frozen=True, slots=True)
class Version:
    """A kernel of the overlay, and the params it differs by."""

    kernel: str
    params: Mapping[str, Any]

    @property
    def words(self) -> str:
        """`tile=[64, 64, 32] part=[32, 32]`."""
        return " ".join(f"{name}={value}" for name, value in self.params.items())


@dataclass(frozen=True, slots=True)
class Request:
    """`params`: name → values to try. `keys`: kernel key → text with {param} in it."""

    op: str  # the spec's stem
    kernel: str
    params: Mapping[str, Sequence[Any]]
    keys: Mapping[str, str]


def write_overlay(request: Request, specs: Path, folder: Path) -> list[Version]:
    """Writes the overlay's folder of specs. Raises SpecError for what the spec does not have."""
    path = specs / f"{request.op}.yaml"
    if not path.is_file():
        raise SpecError.at(Position(str(path)), f"There is no spec of '{request.op}'.")
    spec = yaml.safe_load(path.read_text(encoding="utf-8"))
    kernels = spec.pop("kernels", None) or [spec.pop("kernel")]
    base = _kernel(request, path, kernels)
    versions = list(versions_of(request))
    spec = {key: value for key, value in spec.items() if key not in _NOT_COPIED}
    spec["op"] = f"sweep.{request.op}"
    spec["kernels"] = [_changed(base, version, request.keys) for version in versions]
    spec["kernels"] += [_kept(request.op, kernel) for kernel in kernels]
    spec["tests"] = [test for test in spec["tests"] if "kernel" not in test]
    folder.mkdir(parents=True)
    text = yaml.dump(spec, Dumper=_DUMPER, sort_keys=False, width=1000)
    (folder / f"sweep_{request.op}.yaml").write_text(text, encoding="utf-8")
    if (specs / "reference").is_dir():
        shutil.copytree(specs / "reference", folder / "reference")
    return versions


def versions_of(request: Request) -> Iterator[Version]:
    """Every combination of the params' values."""
    combinations = product(*request.params.values())
    for number, values in enumerate(combinations):
        yield Version(f"sweep_{number}", dict(zip(request.params, values, strict=True)))


def _kernel(request: Request, path: Path, kernels: Sequence[Any]) -> Any:
    """The kernel of that name, which may lack the operator's before it."""
    wanted = (request.kernel, f"{request.op}_{request.kernel}")
    names = [kernel.get("name", request.op) for kernel in kernels]
    for name, kernel in zip(names, kernels, strict=True):
        if name in wanted:
            return kernel
    message = f"There is no kernel '{request.kernel}'; the spec has: {', '.join(names)}."
    raise SpecError.at(Position(str(path)), message)


def _changed(base: Any, version: Version, keys: Mapping[str, str]) -> Any:
    """The kernel with other params, and with the keys that follow from them."""
    kernel = deepcopy(base)
    kernel.pop("for_tests", None)
    kernel["name"] = version.kernel
    kernel["params"] = {**kernel.get("params", {}), **version.params}
    for key, text in keys.items():
        try:
            kernel[key] = yaml.safe_load(text.format(**version.params))
        except (KeyError, IndexError, ValueError, TypeError, yaml.YAMLError) as error:
            message = f"'{text}' cannot be filled in with {version.words}: {error!r}."
            raise SpecError.at(Position(f"--key {key}"), message) from None
    return kernel


def _kept(stem: str, kernel: Any) -> Any:
    return {**kernel, "name": KEPT + kernel.get("name", stem)}
