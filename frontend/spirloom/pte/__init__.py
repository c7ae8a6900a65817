"""Reads ExecuTorch programs (.pte, .bpte) without ExecuTorch: import, inspection, test cases."""
