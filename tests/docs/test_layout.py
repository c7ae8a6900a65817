"""The layout of the site in a browser: narrow screens, dark colors, copy buttons, navigation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

PAGES = (
    "index", "install", "tutorials/first-model", "how-to/quantize", "performance/gpus",
    "reference/operators/aten.convolution", "reference/error-messages",
)  # fmt: skip
NARROW, WIDE = 390, 1280


@pytest.fixture
def window(browser: Any) -> Iterator[Any]:
    """Sets the width of the window and the color scheme of the reader's system."""

    def set_to(width: int, scheme: str = "light") -> None:
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == NARROW},
        )
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )

    yield set_to
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_not_wider_than_a_phone(
    page: str, browser: Any, window: Any, address: str
) -> None:
    window(NARROW)
    browser.get(f"{address}/{page}.html")
    assert browser.execute_script("return document.documentElement.scrollWidth") == NARROW


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_copy_buttons_are_legible_and_cover_nothing(
    scheme: str, browser: Any, window: Any, address: str
) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    window(NARROW, scheme)
    browser.get(f"{address}/tutorials/first-model.html")
    WebDriverWait(browser, 20).until(
        lambda b: b.execute_script("return document.querySelector('button.copybtn') !== null")
    )
    covered, icon, behind = browser.execute_script("""
        const buttons = [...document.querySelectorAll('button.copybtn')];
        const covered = buttons.filter(button => {
            const code = button.parentElement.querySelector('pre').getBoundingClientRect();
            return button.getBoundingClientRect().left < code.right;
        });
        const button = buttons[0], block = button.closest('.highlight');
        return [covered.length, getComputedStyle(button, '::before').backgroundColor,
                getComputedStyle(block).backgroundColor];""")
    assert covered == 0
    assert contrast(channels(icon), channels(behind)) >= 4.5, (icon, behind)


def test_only_the_section_of_the_page_is_open(browser: Any, window: Any, address: str) -> None:
    window(WIDE)
    for page, section in (("how-to/quantize", "How-to guides"), ("index", None),
                          ("reference/operators/aten.relu", "Reference")):  # fmt: skip
        browser.get(f"{address}/{page}.html")
        opened = browser.execute_script("""
            return [...document.querySelectorAll('.sidebar-tree > ul > li.has-children')]
                .filter(item => item.querySelector('ul').offsetHeight > 0)
                .map(item => item.querySelector('a').innerText);""")
        assert opened == ([section] if section else []), page


def channels(color: str) -> tuple[float, ...]:
    """`rgb(1, 2, 3)` as numbers from 0 to 1."""
    inside = color.partition("(")[2].rstrip(")")
    return tuple(float(each) / 255 for each in inside.split(",")[:3])


def contrast(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    """The contrast of two colors, as WCAG 2 defines it."""

    def luminance(color: tuple[float, ...]) -> float:
        linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color)
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)
