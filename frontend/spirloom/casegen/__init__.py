"""Operator test cases: inputs from op specs, results of their references, packed for C++."""
