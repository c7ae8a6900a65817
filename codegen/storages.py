"""Storages as specs name them: one by one, or `texture` for every kind of image."""

from __future__ import annotations

from codegen.errors import SpecError, one_of
from codegen.fields import as_scalar, as_sequence
from codegen.vocabulary import Storage
from codegen.yaml_reader import Node, Scalar

TEXTURE = "texture"
TEXTURES = tuple(storage for storage in Storage if storage.is_texture)


def named_storages(scalar: Scalar) -> tuple[Storage, ...]:
    """What one word stands for."""
    if scalar.text == TEXTURE:
        return TEXTURES
    if scalar.text not in Storage.__members__.values():
        message = f"Storage '{scalar.text}' is not one of: {one_of([*Storage, TEXTURE])}."
        raise SpecError.at(scalar.position, message)
    return (Storage(scalar.text),)


def as_storages(node: Node) -> tuple[Storage, ...]:
    """The node, which must be a list of distinct storages."""
    result: list[Storage] = []
    for item in as_sequence(node, "Storages").items:
        for storage in named_storages(as_scalar(item, "a storage")):
            if storage in result:
                raise SpecError.at(item.position, f"Storage '{storage}' is repeated.")
            result.append(storage)
    if not result:
        raise SpecError.at(node.position, "List of Storages is empty.")
    return tuple(result)


def summary(storages: list[Storage]) -> list[str]:
    """The shortest words for the storages."""
    if all(texture in storages for texture in TEXTURES):
        return [*(str(x) for x in storages if not x.is_texture), TEXTURE]
    return [str(storage) for storage in storages]
