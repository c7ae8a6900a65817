"""The table of device properties, in Python and on the page of the spec language."""

from __future__ import annotations

from pathlib import Path

from spec_model.device_properties import DEVICE_PROPERTIES, GPU

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "spec_model" / "device_properties.inc"


def test_every_row_is_read() -> None:
    rows = [line for line in TABLE.read_text().splitlines() if line.startswith("SPIRLOOM_")]
    assert len(rows) == len(DEVICE_PROPERTIES)
    assert all(f"({name}, " in row for name, row in zip(DEVICE_PROPERTIES, rows, strict=True))


def test_the_page_lists_every_property() -> None:
    page = (ROOT / "docs/reference/spec-language.md").read_text(encoding="utf-8")
    for name, each in DEVICE_PROPERTIES.items():
        kind = "bool" if each.is_bool else "int"
        assert f"| `{name}` | {kind} | {each.description} |" in page


def test_samples() -> None:
    assert DEVICE_PROPERTIES["is_cpu"].samples == (False, True)
    cores = DEVICE_PROPERTIES["cores"]
    assert not cores.listed and cores.samples[:3] == (1, 2, 4) and cores.samples[-1] == 1024
    loops = DEVICE_PROPERTIES["max_loop_iterations"]
    assert loops.listed and loops.samples == (65535, loops.default)


def test_defaults_are_among_the_values() -> None:
    for each in DEVICE_PROPERTIES.values():
        assert min(each.samples) <= each.default <= max(each.samples), each.name
    assert GPU["subgroup_size"] == 32 and not GPU["is_cpu"]
