"""A spec is short enough to be read at once; kernels that specs share are in kernel sets."""

from __future__ import annotations

from spec_model.templates import BUILTIN_SPECS

LIMIT = 120  # lines


def test_no_spec_is_longer_than_120_lines() -> None:
    lengths = {
        path.relative_to(BUILTIN_SPECS).as_posix(): len(path.read_bytes().splitlines())
        for path in sorted(BUILTIN_SPECS.rglob("*.yaml"))
    }
    assert lengths
    too_long = {name: length for name, length in lengths.items() if length > LIMIT}
    assert not too_long, "Declare kernels in a kernel set, or operators by 'for'."
