"""How to install a missing Python module, for messages."""

from __future__ import annotations

from pathlib import Path

# The names of packages that differ from their module's.
_PYPI = {"yaml": "pyyaml"}
# Modules without a package python3-MODULE in Debian 12.
_NOT_IN_DEBIAN = frozenset({"executorch", "onnxruntime", "tokenizers", "transformers"})


def is_wheel() -> bool:
    """Whether pip installed this package; otherwise it is in a source tree or an installation by
    CMake, which use the modules of the distribution."""
    return Path(__file__).resolve().parents[1].name in ("site-packages", "dist-packages")


def how_to_install(*modules: str) -> str:
    """A sentence with the command that installs the modules."""
    pip = f"pip install {' '.join(_PYPI.get(module, module) for module in modules)}"
    if is_wheel():
        return f"Install it: {pip}."
    if _NOT_IN_DEBIAN.isdisjoint(modules):
        packages = " ".join(f"python3-{module}" for module in modules)
        return f"Install it: apt-get install {packages} (Debian), or {pip}."
    return f"Install it: {pip}."
