"""Counts the instructions of a SPIR-V module by class."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping

MAGIC = 0x07230203
HEADER_WORDS = 5
_EXT_INST, _TYPE_POINTER, _FUNCTION = 12, 32, 54
_PARAMETER, _VARIABLE, _LOAD, _STORE, _ACCESS_CHAIN, _IN_BOUNDS = 55, 59, 61, 62, 65, 66
_POINTERS = (_PARAMETER, _VARIABLE, _ACCESS_CHAIN, _IN_BOUNDS)

# Opcodes by class, in the order of the output. Those of no class (labels, merges) count in the sum.
_CLASSES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("addresses", (_ACCESS_CHAIN, _IN_BOUNDS, 67, 68)),
    ("images", tuple(range(86, 108))),
    ("float arithmetic", (127, 129, 131, 133, 136, 140, 141, *range(142, 149))),
    ("math functions", (_EXT_INST,)),
    ("integer arithmetic", (126, 128, 130, 132, 149, 150, 151, 152)),
    ("integer division", (134, 135, 137, 138, 139)),
    ("dot products", tuple(range(4450, 4456))),
    ("cooperative matrices", (*range(4456, 4461), *range(5358, 5363))),
    ("bits", tuple(range(194, 206))),
    ("conversions", tuple(range(109, 125))),
    ("comparisons and selects", (*range(154, 192),)),
    ("vectors and composites", tuple(range(77, 85))),
    ("subgroups", (*range(333, 367), *range(4421, 4433))),
    ("barriers", (224, 225)),
    ("atomics", (*range(227, 243), 5614, 5615, 6035)),
    ("calls", (57,)),
    ("loops", (246,)),
    ("branches", (250, 251)),
)
_CLASS_OF = {opcode: name for name, opcodes in _CLASSES for opcode in opcodes}
_STORAGE = {
    0: "constants", 1: "builtin inputs", 2: "buffers", 4: "shared memory", 6: "local variables",
    7: "local variables", 9: "push constants", 12: "buffers",
}  # fmt: skip


def instructions(module: bytes) -> Iterator[array[int]]:
    """The words of each instruction. Raises ValueError if it is not SPIR-V."""
    words = array("I", module[: len(module) // 4 * 4])
    if len(module) % 4 or len(words) < HEADER_WORDS or words[0] != MAGIC:
        raise ValueError("it does not have the header of little-endian SPIR-V")
    at = HEADER_WORDS
    while at < len(words):
        length = words[at] >> 16
        if length == 0 or at + length > len(words):
            raise ValueError(f"the instruction at word {at} extends beyond its end")
        yield words[at : at + length]
        at += length


def statistics(module: bytes) -> Mapping[str, int]:
    """The number of instructions in function bodies, by class; "instructions" is the sum."""
    counts: Counter[str] = Counter()
    storage: dict[int, int] = {}  # of pointer types, and of pointers
    in_function = False
    for words in instructions(module):
        opcode = words[0] & 0xFFFF
        in_function = in_function or opcode == _FUNCTION
        if opcode == _TYPE_POINTER:
            storage[words[1]] = words[2]
        elif opcode in _POINTERS and words[1] in storage:
            storage[words[2]] = storage[words[1]]
        if not in_function or opcode in (_FUNCTION, _VARIABLE):
            continue
        counts["instructions"] += 1
        if opcode in (_LOAD, _STORE):
            pointer = words[3] if opcode == _LOAD else words[1]
            where = _STORAGE.get(storage.get(pointer, -1), "other memory")
            counts[f"{'loads' if opcode == _LOAD else 'stores'}: {where}"] += 1
        elif opcode in _CLASS_OF:
            counts[_CLASS_OF[opcode]] += 1
    order = [*sorted(name for name in counts if ": " in name), *(name for name, _ in _CLASSES)]
    return {"instructions": counts["instructions"]} | {n: counts[n] for n in order if counts[n]}
