"""Options and fixtures of the site's tests."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("spirloom")
    group.addoption("--bin-dir", type=Path, default=ROOT / "build/release/bin")


@pytest.fixture(scope="session")
def site() -> Path:
    """The directory of the built site; a build with a warning fails."""
    programs = ("doxygen", "dot", "sphinx-build")
    if missing := [name for name in programs if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(missing)} is not installed; `./dev docs` installs it.")
    done = subprocess.run(
        ["/usr/bin/python3", "-m", "tools.docs"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build/docs/html"


class Handler(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    """The URL of the site, which a thread serves: from files, the search may read no pages."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    webdriver = pytest.importorskip("selenium.webdriver")
    if not Path("/usr/bin/chromedriver").exists():
        pytest.skip("chromium-driver is not installed; `./dev test` installs it.")
    options = webdriver.ChromeOptions()
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.binary_location = "/usr/bin/chromium"
    service = webdriver.chrome.service.Service("/usr/bin/chromedriver")
    browser = webdriver.Chrome(service=service, options=options)
    yield browser
    browser.quit()
