"""What programs and shaders take: `./dev size`.

Writes benchmarks/results/size.md. With --check, which a test runs, writes nothing and fails if a
row of that page has grown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import size_packs, size_programs, size_table
from codegen.closed_pipe import ends_quietly

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "benchmarks/results/size.md"
HEAD = """# Sizes

Bytes. Made by `./dev size`; a test fails when the last column of a row grows by {tolerance:.0%}.

The programs are `examples/minimal`, linked with GCC 12 at `-Oz` with `--gc-sections`, and stripped.
`file` is the whole file, shaders included. `text`, `data` and `bss` are what `size` counts, `text`
with read-only data, shaders and unwinding tables. libstdc++, libc, libzstd and the Vulkan loader
are shared libraries and not counted. A selection without `STORAGES` leaves the storage to the
runtime, so it holds kernels for all three.

`bytes` is what modules take, `compressed` with `COMPRESS`. A module that several variants of a
group share counts once, as it is embedded once: rows may share modules, and `all` is less than
their sum.
"""


def page(tables: Sequence[size_table.Table]) -> str:
    return "\n".join([HEAD.format(tolerance=size_table.TOLERANCE), *(t.markdown() for t in tables)])


@ends_quietly
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the page instead")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    arguments = parser.parse_args()
    build: Path = arguments.build
    folder = build / "benchmarks/size"
    size_programs.link(build, folder)
    pack = folder / "everything_compressed_shaders/shaders.slpack"
    variants = size_packs.load_variants(build / "bin/spirloom-ops", pack)
    tables = [size_programs.table(build, folder), *size_packs.tables(variants)]
    if arguments.check:
        grown = size_table.growth(size_table.read(PAGE.read_text(encoding="utf-8")), tables)
        print(
            "\n".join([*grown, "If that is meant: ./dev size" if grown else "Nothing has grown."])
        )
        return 1 if grown else 0
    PAGE.write_text(page(tables), encoding="utf-8")
    print(page(tables[:2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
