"""Descriptions of devices, for kernel selection without the device."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spirloom.errors import ImportFailure, reading

# The built-in descriptions: name → members, as spirloom-ops reads them.
DEVICES = Path(__file__).with_name("devices.yaml")


def read_devices(path: Path = DEVICES) -> dict[str, dict[str, Any]]:
    """The descriptions in a YAML file. Their members are checked by spirloom-ops."""
    import yaml

    try:
        with reading(path):
            found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        detail = " ".join(str(error).split())
        raise ImportFailure(f"{path} is not a YAML file: {detail}.") from None
    if not isinstance(found, Mapping) or not all(isinstance(x, Mapping) for x in found.values()):
        raise ImportFailure(f"{path} does not map names of devices to their descriptions.")
    return {str(name): dict(members) for name, members in found.items()}


def find_devices(name: str) -> dict[str, dict[str, Any]]:
    """The built-in device of this name, or all devices of the file of this name."""
    known = read_devices()
    if name in known:
        return {name: known[name]}
    if Path(name).suffix in (".yaml", ".yml"):
        return read_devices(Path(name))
    raise ImportFailure(
        f"Device '{name}' is not described. Described devices: {', '.join(known)}. Or pass a "
        "YAML file of descriptions, or 'this' for the device of this machine."
    )
