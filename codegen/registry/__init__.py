"""Specs → registry.bin, the ops of a library as the runtime reads them, and executorch.bin."""

from codegen.registry.foreign import foreign_bytes
from codegen.registry.library import registry_bytes

__all__ = ["foreign_bytes", "registry_bytes"]
