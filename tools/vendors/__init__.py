"""Shader statistics of GPU vendors' compilers, which need no GPU: ./dev test-vendors."""
