"""Which shaders changed between two revisions, by how many instructions.

./dev shader-diff REV   # python3 -m tools.shader_diff
"""
