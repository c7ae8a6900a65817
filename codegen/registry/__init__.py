"""The binary files of a library: registry.bin for the runtime, and executorch.bin."""

from codegen.registry.executorch import executorch_bytes
from codegen.registry.library import registry_bytes

__all__ = ["executorch_bytes", "registry_bytes"]
