"""The documentation site: pages generated from sources, and the Sphinx build around them."""
