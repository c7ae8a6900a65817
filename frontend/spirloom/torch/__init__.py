"""The way in from PyTorch: exported programs, from archives (.pt2) or in process.

Importing this package does not import torch; `export` does when it is called.
"""

from __future__ import annotations

from spirloom.torch.in_process import decompose, export, program_of

__all__ = ["decompose", "export", "program_of"]
