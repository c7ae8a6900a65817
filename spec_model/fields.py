"""Typed access to the maps of specs: unknown keys, missing keys and wrong kinds become errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Mapping as Map
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from spec_model.errors import LocatedText, SpecError, one_of
from spec_model.vocabulary import DTYPE_GROUPS, STORAGE_GROUPS, DType, Storage
from spec_model.yaml_reader import Entry, Mapping, Node, Scalar, Sequence, describe

_INT = re.compile(r"[-+]?[0-9]{1,18}")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Fields:
    """A map with a fixed set of allowed keys; `what` names it in messages."""

    node: Mapping
    what: str

    @classmethod
    def of(cls, node: Node, what: str, known: Iterable[str]) -> Fields:
        """The node's fields. Fails if it is not a map or has an unknown key."""
        mapping = as_mapping(node, what)
        known = list(known)
        for entry in mapping.entries:
            if entry.key.text not in known:
                message = f"Key '{entry.key.text}' is unknown in {what}; "
                raise SpecError.at(
                    entry.key.position, message + f"known keys are: {one_of(known)}."
                )
        return cls(mapping, what)

    def get(self, name: str) -> Node | None:
        """The value of an optional key."""
        return self.node.get(name)

    def need(self, name: str) -> Node:
        """The value of a required key."""
        node = self.node.get(name)
        if node is None:
            raise SpecError.at(self.node.position, f"Key '{name}' is missing from {self.what}.")
        return node

    def scalar(self, name: str) -> Scalar | None:
        """The scalar of an optional key."""
        node = self.get(name)
        return None if node is None else as_scalar(node, f"'{name}'")

    def need_scalar(self, name: str) -> Scalar:
        """The scalar of a required key."""
        return as_scalar(self.need(name), f"'{name}'")

    def entries(self, name: str) -> tuple[Entry, ...]:
        """The entries of an optional map."""
        node = self.get(name)
        return () if node is None else as_mapping(node, f"'{name}'").entries

    def items(self, name: str) -> tuple[Node, ...]:
        """The items of an optional list; a value alone is its only item."""
        node = self.get(name)
        return () if node is None else as_items(node, f"'{name}'")

    def flag(self, name: str, default: bool) -> bool:
        """The value of an optional bool."""
        node = self.scalar(name)
        return default if node is None else as_bool(node, f"'{name}'")


def as_mapping(node: Node, what: str) -> Mapping:
    """The node, which must be a map."""
    if not isinstance(node, Mapping):
        raise SpecError.at(node.position, f"A map is expected for {what}, not {describe(node)}.")
    return node


def as_sequence(node: Node, what: str) -> Sequence:
    """The node, which must be a list."""
    if not isinstance(node, Sequence):
        raise SpecError.at(node.position, f"A list is expected for {what}, not {describe(node)}.")
    return node


def as_items(node: Node, what: str) -> tuple[Node, ...]:
    """The items of a list. A scalar is the only item of its list: `dtypes: numbers`."""
    if isinstance(node, Scalar) and not node.is_null:
        return (node,)
    return as_sequence(node, what).items


def as_scalar(node: Node, what: str) -> Scalar:
    """The node, which must be a scalar other than null."""
    if not isinstance(node, Scalar) or node.is_null:
        raise SpecError.at(node.position, f"A value is expected for {what}, not {describe(node)}.")
    return node


def as_int(node: Node, what: str) -> int:
    """The node, which must be an int."""
    scalar = as_scalar(node, what)
    if scalar.quoted or not _INT.fullmatch(scalar.text):
        raise SpecError.at(node.position, f"An int is expected for {what}, not '{scalar.text}'.")
    return int(scalar.text)


def as_float(node: Node, what: str) -> float:
    """The node, which must be a number; `inf`, `-inf` and `nan` are numbers."""
    scalar = as_scalar(node, what)
    try:
        return float(scalar.text.replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        message = f"A number is expected for {what}, not '{scalar.text}'."
        raise SpecError.at(node.position, message) from None


def as_bool(node: Node, what: str) -> bool:
    """The node, which must be `true` or `false`."""
    scalar = as_scalar(node, what)
    if scalar.text not in ("true", "false"):
        message = f"'true' or 'false' is expected for {what}, not '{scalar.text}'."
        raise SpecError.at(node.position, message)
    return scalar.text == "true"


def as_word(node: Node, words: type[Word], what: str) -> Word:
    """The node, which must be one of the words; `what` is e.g. "DType"."""
    scalar = as_scalar(node, what)
    try:
        return words(scalar.text)
    except ValueError:
        message = f"{what} '{scalar.text}' is not one of: {one_of(words)}."
        raise SpecError.at(scalar.position, message) from None


def as_dtypes(node: Node) -> tuple[DType, ...]:
    """The node, which must be one dtype or group of dtypes, or a list of distinct ones."""
    return _as_words(node, DType, "DType", DTYPE_GROUPS)


def as_storages(node: Node) -> tuple[Storage, ...]:
    """The node, which must be one storage or group of storages, or a list of distinct ones."""
    return _as_words(node, Storage, "Storage", STORAGE_GROUPS)


def named_storages(scalar: Scalar) -> tuple[Storage, ...]:
    """The storages that one word denotes: one, or all textures."""
    return _named(scalar, Storage, "Storage", STORAGE_GROUPS)


def summary(storages: list[Storage]) -> list[str]:
    """The shortest list of words for the storages."""
    for name, group in STORAGE_GROUPS.items():
        if all(storage in storages for storage in group):
            return [*(str(x) for x in storages if x not in group), name]
    return [str(storage) for storage in storages]


def _as_words(
    node: Node, words: type[Word], what: str, groups: Map[str, tuple[Word, ...]]
) -> tuple[Word, ...]:
    result: list[Word] = []
    for item in as_items(node, f"{what}s"):
        for word in _named(as_scalar(item, what), words, what, groups):
            if word in result:
                raise SpecError.at(item.position, f"{what} '{word}' is repeated.")
            result.append(word)
    if not result:
        raise SpecError.at(node.position, f"List of {what}s is empty.")
    return tuple(result)


def _named(
    scalar: Scalar, words: type[Word], what: str, groups: Map[str, tuple[Word, ...]]
) -> tuple[Word, ...]:
    """The words that one word denotes: itself, or a group."""
    if scalar.text in groups:
        return groups[scalar.text]
    if scalar.text not in words.__members__.values():
        message = f"{what} '{scalar.text}' is not one of: {one_of([*words, *groups])}."
        raise SpecError.at(scalar.position, message)
    return (words(scalar.text),)


def check_name(scalar: Scalar, what: str, *, lower: bool = False) -> str:
    """The scalar, which must be a valid name in GLSL, C++ and Python."""
    if not _NAME.fullmatch(scalar.text) or (lower and scalar.text != scalar.text.lower()):
        rule = "lower-case letters" if lower else "letters"
        message = (
            f"{what} '{scalar.text}' is not a name: {rule}, digits and single '_' between them."
        )
        raise SpecError.at(scalar.position, message)
    return scalar.text


def plain(node: Node) -> object:
    """The node as Python values, for templates. Strings are LocatedText."""
    if isinstance(node, Mapping):
        return {entry.key.text: plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return _plain_scalar(node)


def _plain_scalar(scalar: Scalar) -> object:
    if scalar.quoted:
        return _located(scalar)
    if scalar.is_null:
        return None
    if scalar.text in ("true", "false"):
        return scalar.text == "true"
    if _INT.fullmatch(scalar.text):
        return int(scalar.text)
    if re.fullmatch(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?", scalar.text):
        return float(scalar.text)
    return _located(scalar)


def _located(scalar: Scalar) -> LocatedText:
    pieces = scalar.pieces if scalar.located else None
    return LocatedText.at(scalar.position, scalar.text, pieces)
