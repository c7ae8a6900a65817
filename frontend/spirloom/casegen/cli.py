"""Generates the case pack of op specs, for `spirloom cases`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from spirloom_schema.CasePack import CasePack

from spec_model import Op, load_library
from spec_model.errors import ErrorList
from spec_model.files import replaced, write_depfile
from spirloom.casegen.cache import PackCache, inputs_of
from spirloom.casegen.case_pack import SIZE_PREFIX


def run(arguments: argparse.Namespace, check: Callable[[Op], None]) -> int:
    """Writes the pack. Raises SpecError for invalid specs. `check`: of the ops whose cases are not
    cached."""
    library = load_library(arguments.spec_dir, arguments.template_dir)
    ops = [op for name, op in sorted(library.ops.items()) if arguments.op in (None, name)]
    cache = PackCache(library, arguments.cache)
    packs: list[bytes] = []
    errors = ErrorList()
    for op in ops:
        with errors:
            packs.append(cache.pack(op, check))
    errors.raise_any()
    with replaced(arguments.out, durable=False) as stream:
        stream.writelines(packs)
    if arguments.depfile is not None:
        write_depfile(arguments.depfile, arguments.out, inputs_of(library))
    count = sum(CasePack.GetRootAs(pack, SIZE_PREFIX).CasesLength() for pack in packs)
    print(f"{count} cases of {len(ops)} operators, {sum(map(len, packs)) / 1e6:.1f} MB")
    return 0
