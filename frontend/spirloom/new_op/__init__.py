"""Scaffolds for new operators: a spec, a reference and, for a new algorithm, a template."""
