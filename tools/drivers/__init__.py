"""Operator cases on other Vulkan drivers that run without a GPU (SwiftShader, a newer llvmpipe).

python3 -m tools.drivers            # the cases of today
python3 -m tools.drivers --all
"""
