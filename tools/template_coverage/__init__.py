"""Branches of templates that no test case reaches.

python3 -m tools.template_coverage
"""
