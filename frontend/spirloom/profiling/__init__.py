"""Profiles of runs: tables, comparisons, and other formats. `spirloom profile` prints them."""
