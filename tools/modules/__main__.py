"""Validates every module of shader packs with the newest spirv-val of Debian.

  python3 -m tools.modules [PACK…]      # default: the pack of this build

The compiler validates a module before it converts it to extensions that the installed SPIRV-Tools
may not know: KHR cooperative matrices and bfloat16. This spirv-val knows them. It is downloaded
once and unpacked in build/spirv-tools; remove that directory to get the newest one again.

Exit code: 0 all are valid, 1 some are not, 2 no spirv-val or unreadable input.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from codegen.shader_pack import InvalidInputError, pack_modules, vulkan_minors
from tools.drivers.swiftshader import DriverError
from tools.modules.spirv_val import find_or_download, version_of, violation

ROOT = Path(__file__).resolve().parents[2]
PACK = ROOT / "build/release/generated/shaders.slpack"
UNPACKED = ROOT / "build/spirv-tools"
_LISTED_VARIANTS = 4


@dataclass(frozen=True, slots=True)
class Module:
    """A module and its target, e.g. "vulkan1.1", with the variants that use it."""

    variants: tuple[str, ...]
    target: str
    code: bytes

    @property
    def name(self) -> str:
        rest = len(self.variants) - _LISTED_VARIANTS
        listed = ", ".join(sorted(self.variants)[:_LISTED_VARIANTS])
        return listed + (f" and {rest} more" if rest > 0 else "")


def read_modules(path: Path) -> Iterator[Module]:
    """The modules of a pack, each once for each target of its variants. Raises
    InvalidInputError.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"Cannot read '{path}': {error.strerror}.") from None
    minors = vulkan_minors(data, f"'{path}'")
    for code, names in pack_modules(data, f"'{path}'"):
        for minor in sorted({minors[name] for name in names}):
            variants = tuple(name for name in names if minors[name] == minor)
            yield Module(variants, f"vulkan1.{minor}", code)


def check(validator: Sequence[str], path: Path) -> bool:
    """Prints the message about each invalid module of a pack, and the number of valid ones. Returns
    whether all are valid. Raises InvalidInputError and DriverError.
    """
    version = version_of(validator)
    modules = list(read_modules(path))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        messages = list(
            pool.map(lambda module: violation(validator, module.code, module.target), modules)
        )
    for module, message in zip(modules, messages, strict=True):
        if message:
            print(f"{module.name}: {message}", file=sys.stderr)
    valid = messages.count("")
    print(f"{path.name}: {valid:,} of {len(modules):,} modules are valid ({version}).")
    return valid == len(modules)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="modules",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("packs", metavar="PACK", nargs="*", type=Path, default=[PACK])
    packs: list[Path] = parser.parse_args(arguments).packs
    try:
        validator = find_or_download(UNPACKED)
        valid = [check(validator, path) for path in packs]
        return 0 if all(valid) else 1
    except (DriverError, InvalidInputError) as error:
        print(f"modules: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
