"""Sizes and counts that pages state in prose are those of `./dev size`, rounded."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SENTENCES = {
    "README.md": [
        "[{operators} operators](docs/reference/operators.md)",
        "The runtime takes {runtime}, or {runtime_lto} with link-time optimization; mobilenet_v2 "
        "with its shaders {mobilenet}, or {mobilenet_compressed} compressed.",
    ],
    "CHANGELOG.md": [
        "- {operators} operators in {variants} variants,",
        "the runtime takes {runtime}, {runtime_lto} with link-time optimization",
    ],
    "docs/faq.md": [
        "The runtime without shaders takes {runtime}, {runtime_lto} with link-time optimization; "
        "all operators {library}, {library_compressed} compressed; mobilenet_v2 with its shaders "
        "{mobilenet}, {mobilenet_compressed} compressed",
    ],
    "docs/how-to/shrink-the-binary.md": [
        "The runtime takes {runtime}, {runtime_lto} with "
        "[link-time optimization](#link-time-optimization). The complete shader library takes "
        "{library} ({library_compressed} compressed); a library for mobilenet_v2 takes "
        "{mobilenet_library} ({mobilenet_library_compressed} compressed).",
    ],
}


def _rows(page: str) -> dict[str, list[str]]:
    """The first row of each name in the page's tables."""
    rows: dict[str, list[str]] = {}
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("| "):
            name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            rows.setdefault(name, cells)
    return rows


def _rounded(size: str) -> str:
    """Bytes as kB, or as MB with one decimal."""
    count = int(size.replace(",", ""))
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def _figures() -> dict[str, str]:
    rows = _rows("benchmarks/results/size.md")
    page = (ROOT / "docs/reference/operators.md").read_text(encoding="utf-8")
    return {
        "operators": str(page.count("\n### `")),
        "variants": rows["all"][0],
        "runtime": _rounded(rows["the runtime, no shaders"][-1]),
        "runtime_lto": _rounded(rows["the runtime, no shaders, link-time optimization"][-1]),
        "library": _rounded(rows["all operators"][0]),
        "library_compressed": _rounded(rows["all operators, `COMPRESS`"][0]),
        "mobilenet": _rounded(rows["mobilenet_v2"][-1]),
        "mobilenet_compressed": _rounded(rows["mobilenet_v2, `COMPRESS`"][-1]),
        "mobilenet_library": _rounded(rows["mobilenet_v2"][0]),
        "mobilenet_library_compressed": _rounded(rows["mobilenet_v2, `COMPRESS`"][0]),
    }


@pytest.mark.parametrize("page", SENTENCES)
def test_pages_state_the_measured_figures(page: str) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    for sentence in SENTENCES[page]:
        expected = sentence.format_map(_figures())
        assert (
            expected in text
        ), f"{page} does not state, as benchmarks/results/size.md:\n{expected}"
