"""Specs → registry.bin: the ops of a library as the runtime reads them."""

from codegen.registry.library import registry_bytes

__all__ = ["registry_bytes"]
