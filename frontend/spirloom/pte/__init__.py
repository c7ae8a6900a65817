"""Programs of ExecuTorch (.pte, .bpte), read without ExecuTorch: import, inspection, checks."""
