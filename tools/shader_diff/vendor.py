"""What the compiler of a GPU vendor makes of the changed variants."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from codegen.shader_pack import InvalidInputError
from tools.drivers.swiftshader import DriverError
from tools.vendors import families
from tools.vendors.families import VendorError, compile_all
from tools.vendors.table import difference

COMPILERS = {compiler.name: compiler for compiler in families.COMPILERS}


def statistics_changes(old: Path, new: Path, variants: Collection[str], vendor: str) -> list[str]:
    """A line per variant and family whose statistics differ between two packs. Raises
    InvalidInputError.
    """
    if directory := next((each for each in (old, new) if each.is_dir()), None):
        raise InvalidInputError(f"--vendor requires packs; '{directory}' is a directory of .spv.")
    if not variants:
        return []
    try:
        before, after = (compile_all(COMPILERS[vendor], pack, variants) for pack in (old, new))
    except (VendorError, DriverError) as error:
        raise InvalidInputError(str(error)) from error
    return [f"{variant}  {text}" for variant, text in difference(before, after)]
