"""The variants that names on the command line mean."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.select.filters import find
from spec_model import Library
from spec_model.vocabulary import Storage
from tools.vendors.families import VendorError


def variants_of(library: Library, names: Sequence[str]) -> list[str]:
    """The ids of the buffer variants that `names` match: operators, kernels, variants or patterns
    of these. Raises VendorError for a name that matches none.
    """
    ids: dict[str, None] = {}
    for name in names:
        found = [
            variant.id
            for _, variants in find(library, name)
            for variant in variants
            if variant.storage is Storage.BUFFER
        ]
        if not found:
            raise VendorError(f"No operator, kernel or variant with a buffer is named '{name}'.")
        ids |= dict.fromkeys(found)
    return list(ids)
