"""The page of `spirloom serve` in a headless Chromium: a chat, a continued text, and errors."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import spirloom
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from examples.story.generate import MODEL
from tests.llm.model_directory import write_model_directory
from tests.torch.test_serve import KEY, Server, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    options = Options()
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    options.binary_location = "/usr/bin/chromium"
    made = Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    yield made
    made.quit()


def page_of(server: Server) -> str:
    return f"http://{urlsplit(server.url).netloc}/"


def open_page(browser: Chrome, server: Server) -> None:
    """The server requires its key, for which the page asks."""
    browser.get(page_of(server))
    key = browser.find_element(By.ID, "key")
    WebDriverWait(browser, 10).until(lambda _: key.is_displayed())
    key.send_keys(KEY + Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda _: browser.find_element(By.ID, "context").text)


def ask(browser: Chrome, text: str) -> None:
    """Sends a message with greedy decoding, and waits for the end of the answer."""
    for name, value in (("temperature", "0"), ("tokens", "12"), ("prompt", text)):
        field = browser.find_element(By.ID, name)
        field.clear()
        field.send_keys(value)
    browser.find_element(By.ID, "send").click()
    stop = browser.find_element(By.ID, "stop")
    WebDriverWait(browser, 60).until(lambda _: not stop.is_displayed())


def texts(browser: Chrome, kind: str) -> list[str]:
    return [str(each.get_property("textContent")) for each in
            browser.find_elements(By.CSS_SELECTOR, f"#messages .{kind}")]  # fmt: skip


def test_a_text_is_continued(browser: Chrome) -> None:
    prompt = "It was a truth which Emma"
    wanted = "".join(spirloom.LLM(MODEL).generate(prompt, tokens=12))
    with serving(MODEL) as server:
        open_page(browser, server)
        Select(browser.find_element(By.ID, "mode")).select_by_value("text")
        ask(browser, prompt)
        assert texts(browser, "assistant") == [wanted] and texts(browser, "prompt") == [prompt]
        assert browser.find_element(By.ID, "model").text == "story"
        assert browser.find_element(By.ID, "context").text == "context 256 tokens"
        Select(browser.find_element(By.ID, "mode")).select_by_value("chat")
        ask(browser, "<b>Hello</b>")
        assert texts(browser, "user") == ["<b>Hello</b>"], "texts are not HTML"
        (error,) = texts(browser, "error")
        assert "has no chat template" in error and "/v1/completions" in error


def test_an_answer_is_not_html(browser: Chrome) -> None:
    """The server's answer is replaced by one in two events that together are an element."""
    pieces = ["<img id=evil src=x> &lt; <b", " id=evil>bold</b>"]
    with serving(MODEL) as server:
        open_page(browser, server)
        Select(browser.find_element(By.ID, "mode")).select_by_value("text")
        browser.execute_script(  # type: ignore[no-untyped-call]
            """window.fetch = async () => new Response(arguments[0].map((text) =>
                 `data: ${JSON.stringify({ choices: [{ text }] })}\n\n`).join(""));""",
            pieces,
        )
        ask(browser, "Hello")
        assert texts(browser, "assistant") == ["".join(pieces)]
        assert not browser.find_elements(By.ID, "evil")


def test_a_chat(browser: Chrome, tmp_path: Path) -> None:
    """The second answer depends on the first message."""
    model = tmp_path / "tiny"
    write_model_directory(model, "llama3", 256)
    llm = spirloom.LLM(model)
    talk = [{"role": "user", "content": "Hello"}]
    first = "".join(llm.chat(talk, tokens=12))
    talk += [{"role": "assistant", "content": first}, {"role": "user", "content": "And"}]
    second = "".join(llm.chat(talk, tokens=12))
    with serving(model, "--name", "tiny") as server:
        open_page(browser, server)
        ask(browser, "Hello")
        ask(browser, "And")
        assert texts(browser, "assistant") == [first, second]


def test_the_page_loads_nothing_else() -> None:
    with serving(MODEL) as server, urllib.request.urlopen(page_of(server)) as response:
        policy = response.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'self';") and "unsafe" not in policy
        assert response.headers["Content-Type"].startswith("text/html")
