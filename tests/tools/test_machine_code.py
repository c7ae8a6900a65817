"""Machine code is found in what surrounds it, and counted."""

from __future__ import annotations

from tools.machine_code import NO_OPERATION, SIZE, Code, code_in

ADD = b"\x21" + bytes(SIZE - 1)
NOP = NO_OPERATION + bytes(SIZE - len(NO_OPERATION))
NAMES = {ADD: "FADD.FTZ R3, R41, R2 ;", NOP: "NOP;"}


def listed(code: bytes) -> str | None:
    """As nvdisasm lists it, of the two instructions that there are."""
    words = [code[i : i + SIZE] for i in range(0, len(code), SIZE)]
    if any(word not in NAMES for word in words):
        return None
    return "\n".join(f"/*{i:04x}*/  @!P0 {NAMES[word]}" for i, word in enumerate(words))


def test_code_is_what_stands_before_the_last_no_operation() -> None:
    frame = b"what a driver notes " + ADD * 200 + NOP * 3 + b"and more of it"
    code = code_in(frame, listed)
    assert code is not None
    assert code.operations == {"FADD": 200, "NOP": 3}
    assert code.registers == 42


def test_code_may_begin_where_the_frame_does() -> None:
    code = code_in(ADD * 64 + NOP, listed)
    assert code is not None and code.operations["FADD"] == 64


def test_a_frame_without_code_has_none() -> None:
    assert code_in(b"a pipeline's name", listed) is None
    assert code_in(NO_OPERATION, listed) is None


def test_a_listing_keeps_its_text() -> None:
    code = code_in(ADD + NOP, listed)
    assert isinstance(code, Code) and code.listing.startswith("/*0000*/")
