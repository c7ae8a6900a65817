"""The operator library whose references are compared with PyTorch."""

from __future__ import annotations

from spirloom.op_library import OWN_SPECS, OWN_TEMPLATES

from spec_model import load_library

LIBRARY = load_library(OWN_SPECS, OWN_TEMPLATES)
