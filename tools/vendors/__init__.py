"""Shader statistics of GPU vendors' compilers, which need no GPU.

python3 -m tools.vendors            # compiles every variant and checks generated/shader_stats*.tsv
python3 -m tools.vendors --update   # writes them
"""
