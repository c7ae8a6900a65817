"""Typed JSON values: what is returned, and messages with the location, both values and a remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from spirloom.errors import ImportFailure
from spirloom.json_values import Json

GOOD = '{"name": "a", "ids": [1, 2], "flag": true, "time": 1.5, "none": null}'
BAD = f'{{"name": 7, "ids": [-1, true], "flag": 1, "time": NaN, "inf": 1e400, "int": 1{"0" * 400}}}'
TEXT = f'{{"graph": {{"nodes": [{GOOD}, {BAD}]}}, "big": 9223372036854775808}}'


def parsed() -> Json:
    return Json(json.loads(TEXT), "m.json", remedy="Write it again.")


def node(index: int) -> Json:
    return parsed().get("graph").get("nodes").items()[index]


def test_values() -> None:
    good = node(0)
    assert (good.get("name").text(), good.get("ids").integers()) == ("a", (1, 2))
    assert (good.get("flag").typed(bool), good.get("time").number()) == (True, 1.5)
    assert good.get("ids").items()[1].integer() == 2 and parsed().get("big").integer() == 1 << 63
    assert good.find("none") is None and good.find("absent") is None
    assert good.location == "m.json: graph.nodes[0]"
    assert parsed().get("graph").single_member()[0] == "nodes"
    assert [key for key, _ in parsed().entries()] == ["graph", "big"]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda: parsed().text(), "its content must be a string; found dict"),
        (lambda: parsed().get("x"), "'x' is missing"),
        (lambda: node(0).get("none"), "'graph.nodes[0].none' is missing"),
        (
            lambda: node(0).get("name").get("x"),
            "'graph.nodes[0].name' must be an object; found str",
        ),
        (lambda: node(1).get("name").text(), "'graph.nodes[1].name' must be a string; found int"),
        (lambda: node(1).get("flag").typed(bool), "[1].flag' must be true or false; found int"),
        (lambda: node(0).get("flag").integer(), "[0].flag' must be an integer; found bool"),
        (lambda: node(1).get("ids").integers(), "must be a list of nonnegative integers"),
        (lambda: node(1).get("ids").items()[0].integer(0), "of at least 0 and 64 bits; found -1"),
        (lambda: parsed().get("big").integer(0), "64 bits; found 9223372036854775808"),
        (lambda: node(1).get("time").number(), "must be a nonnegative number; found nan"),
        (lambda: node(1).get("inf").number(), "must be a nonnegative number; found inf"),
        (lambda: node(1).get("int").number(), "a nonnegative number; found 1" + "0" * 39),
        (lambda: node(0).get("flag").number(), "must be a number; found bool"),
        (lambda: node(0).single_member(), "has 5 members; expected 1"),
    ],
)
def test_messages(read: Callable[[], Any], message: str) -> None:
    with pytest.raises(ImportFailure) as caught:
        read()
    text = str(caught.value)
    assert text.startswith("m.json is damaged: ") and f"{message}. Write it again." in text
