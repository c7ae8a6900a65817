"""Importer of PyTorch programs: archives (.pt2), or exported programs in process.

Importing this package does not import torch; functions that need it import it when called. If torch
has been imported, the import registers the device `vulkan` (spirloom.torch_device), as PyTorch does
itself with the wheel.

`spirloom.torch.backend` registers the backend of torch.compile(module, backend="spirloom").
"""

from __future__ import annotations

import sys

from spirloom.torch.compiled import Compiled, compile
from spirloom.torch.export import decompose, export, export_methods, program_of

__all__ = ["Compiled", "compile", "decompose", "export", "export_methods", "program_of"]

if "torch" in sys.modules:
    from spirloom.torch_device import autoload

    autoload()
