"""A GGUF model: one file, or the parts into which llama.cpp split it (NAME-00001-of-00003.gguf)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from spirloom.errors import ImportFailure
from spirloom.gguf.file import Entry, GgufFile
from spirloom.ir import Array

_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")
_MAX_NAMED = 3  # missing parts that a message lists


def part_paths(path: Path) -> list[Path]:
    """The files of the model that a file belongs to, in order: its parts by the file's name, or
    only the file. Raises ImportFailure if a part is missing."""
    found = _PART.fullmatch(path.name)
    count = int(found[3]) if found else 1
    if found is None or not 1 <= int(found[2]) <= count:
        return [path]
    parts = [path.with_name(_part_name(found[1], i, count)) for i in range(count)]
    missing = [part.name for part in parts if part != path and not part.is_file()]
    if missing:
        more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
        raise ImportFailure(
            f"{path} is one of {count} parts of a model; {', '.join(missing[:_MAX_NAMED])}{more} "
            f"not found in its directory. Download all {count} parts to one directory."
        )
    return parts


def _part_name(name: str, index: int, count: int) -> str:
    return f"{name}-{index + 1:05}-of-{count:05}.gguf"


class GgufModel:
    """The `metadata` (of the first part) and the `tensors` of a model; `path` is for messages."""

    def __init__(self, path: Path) -> None:
        """Opens all parts of the model that a file belongs to. Raises ImportFailure."""
        self.path = path
        parts = [GgufFile(part) for part in part_paths(path)]
        for index, part in enumerate(parts):
            _check_index(part, index, len(parts))
        self.metadata = parts[0].metadata
        self._part_of = _parts_by_tensor(parts)
        self.tensors: dict[str, Entry] = {
            name: part.tensors[name] for name, part in self._part_of.items()
        }
        total = self.metadata.get("split.tensors.count", len(self.tensors))
        if total != len(self.tensors):
            raise ImportFailure(
                f"The {len(parts)} parts of {path} have {len(self.tensors)} tensors; "
                f"split.tensors.count is {total!r:.80}. Download all parts of one model again."
            )

    def rows_of(self, name: str) -> Array:
        """The mapped bytes of a tensor whose type is in BLOCKS, uint8 [row, byte]."""
        return self._part_of[name].rows_of(name)


def _check_index(part: GgufFile, index: int, count: int) -> None:
    """Raises ImportFailure unless a file is the part that its name states."""
    whole = part.metadata.get("split.count", 1) or 1  # 0: merged by gguf-split
    number = part.metadata.get("split.no", 0)
    if (whole, number) == (count, index):
        return
    if type(whole) is not int or type(number) is not int or not 0 <= number < whole:
        raise ImportFailure(
            f"{part.path}: split.no is {number!r:.80} and split.count {whole!r:.80}; expected an "
            "integer below the count. Download the file again."
        )
    found = _PART.fullmatch(part.path.name)
    name = _part_name(found[1] if found else part.path.stem, number, whole)
    raise ImportFailure(
        f"{part.path} is part {number + 1} of {whole} by its metadata, and part {index + 1} of "
        f"{count} by its name. Rename it to {name}, and all parts alike."
    )


def _parts_by_tensor(parts: Sequence[GgufFile]) -> dict[str, GgufFile]:
    found: dict[str, GgufFile] = {}
    for part in parts:
        for name in part.tensors:
            if name in found:
                raise ImportFailure(
                    f"Tensor {name!r} is in {found[name].path.name} and in {part.path}; expected "
                    "in one part. Download all parts of one model again."
                )
            found[name] = part
    return found
