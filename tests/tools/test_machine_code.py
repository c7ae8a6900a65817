"""Machine code is found in the frames of a pipeline cache, and counted."""

from __future__ import annotations

from tools.machine_code import NO_OPERATION, SIZE, Code, code_in

ADD = b"\x21" + bytes(SIZE - 1)
NOP = NO_OPERATION + bytes(SIZE - len(NO_OPERATION))
NAMES = {ADD: "FADD.FTZ R3, R41, R2 ;", NOP: "NOP;"}


def listed(code: bytes) -> str | None:
    """A listing in the format of nvdisasm, for the two known instructions."""
    words = [code[i : i + SIZE] for i in range(0, len(code), SIZE)]
    if any(word not in NAMES for word in words):
        return None
    return "\n".join(f"/*{i:04x}*/  @!P0 {NAMES[word]}" for i, word in enumerate(words))


def test_code_ends_before_the_last_no_operation() -> None:
    frame = b"driver data " + ADD * 200 + NOP * 3 + b"and more"
    code = code_in(frame, listed)
    assert code is not None
    assert code.operations == {"FADD": 200, "NOP": 3}
    assert code.registers == 42


def test_code_may_start_at_the_frame() -> None:
    code = code_in(ADD * 64 + NOP, listed)
    assert code is not None and code.operations["FADD"] == 64


def test_frame_without_code() -> None:
    assert code_in(b"a pipeline's name", listed) is None
    assert code_in(NO_OPERATION, listed) is None


def test_listing_text_is_kept() -> None:
    code = code_in(ADD + NOP, listed)
    assert isinstance(code, Code) and code.listing.startswith("/*0000*/")
