"""Operator test cases: inputs made from op specs, results by their references, packed for C++."""
