"""Validates the modules of shader packs with the newest spirv-val.

./dev check modules   # python3 -m tools.modules
"""
