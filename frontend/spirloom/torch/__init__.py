"""The way in from PyTorch: exported programs, from archives (.pt2) or in process.

Importing this package does not import torch; what needs it does when it is called.
`torch.compile(module, backend="spirloom")` comes from `spirloom.torch.backend`.
"""

from __future__ import annotations

from spirloom.torch.compiled import Compiled, compile
from spirloom.torch.export import decompose, export, export_methods, program_of

__all__ = ["Compiled", "compile", "decompose", "export", "export_methods", "program_of"]
