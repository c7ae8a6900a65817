"""Compares modules by variant: which changed, by how many instructions, and a disassembly diff."""

from __future__ import annotations

import difflib
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from codegen.shader_pack import InvalidInputError
from codegen.spirv_statistics import statistics
from tools.compare_shaders import digest, without_debug_information


@dataclass(frozen=True, slots=True)
class Change:
    """Variants whose modules changed equally, with the instructions of one of them."""

    variants: tuple[str, ...]
    before: int
    after: int
    classes: Mapping[str, int]  # increase by class of instruction

    @property
    def delta(self) -> int:
        return self.after - self.before


def changes(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[Change]:
    """The changes of variants of both sides, largest first; debug information does not count."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in sorted(old.keys() & new.keys()):
        if old[name] == new[name]:
            continue
        key = (digest(old[name], f"{name} of OLD"), digest(new[name], f"{name} of NEW"))
        if key[0] != key[1]:
            groups[key].append(name)
    found = []
    for names in groups.values():
        before, after = (dict(statistics(side[names[0]])) for side in (old, new))
        classes = {each: after.get(each, 0) - before.get(each, 0) for each in {**before, **after}}
        totals = before.get("instructions", 0), after.get("instructions", 0)
        classes.pop("instructions", None)
        changed = {each: count for each, count in classes.items() if count}
        found.append(Change(tuple(names), *totals, changed))
    return sorted(found, key=lambda change: (-abs(change.delta), change.variants))


def table(found: Iterable[Change]) -> list[str]:
    """A line per change: instructions before and after, the classes, and the variants."""
    lines = []
    for change in found:
        first, rest = change.variants[0], len(change.variants) - 1
        classes = ", ".join(f"{name} {count:+}" for name, count in change.classes.items())
        more = f" and {rest} more with equal modules" if rest else ""
        lines.append(
            f"{change.before:6} → {change.after:6}  {change.delta:+6}  {first}{more}"
            + (f"  ({classes})" if classes else "  (the same instructions, reordered or changed)")
        )
    return lines


_ID = re.compile(r"%\w+")


def disassembly(module: bytes) -> list[str]:
    """The lines of spirv-dis, without debug information, with ids that an inserted instruction does
    not change. Raises InvalidInputError without spirv-dis.
    """
    command = ["spirv-dis", "--no-header", "--no-indent", "--raw-id", "-"]
    try:
        done = subprocess.run(
            command, input=without_debug_information(module), capture_output=True, check=False
        )
    except FileNotFoundError:
        raise InvalidInputError("spirv-dis was not found. Install spirv-tools.") from None
    if done.returncode != 0:
        raise InvalidInputError(f"spirv-dis failed: {done.stderr.decode(errors='replace')}")
    return _with_stable_ids(done.stdout.decode().splitlines())


def _with_stable_ids(lines: list[str]) -> list[str]:
    """Each id is replaced by the operation that defines it, "%?" if that follows later."""
    names: dict[str, str] = {}
    found = []
    for line in lines:
        result, equals, body = line.partition(" = ")
        if not equals:
            result, body = "", line
        text = _ID.sub(lambda match: names.get(match[0], "%?"), body)
        if result:
            names[result] = f"%{text.split()[0].removeprefix('Op').lower()}"
            text = f"{names[result]} = {text}"
        found.append(text)
    return found


def unified(old: bytes, new: bytes, context: int = 3) -> list[str]:
    """A unified diff of the disassemblies."""
    sides = (disassembly(old), disassembly(new))
    return list(difflib.unified_diff(*sides, "old", "new", n=context, lineterm=""))
