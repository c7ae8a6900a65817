"""What a GPU does: calls of sizes that fill one, and networks, beside PyTorch on CUDA.

`bundle` packs what is needed into a folder that runs on any machine; `page` shows results.
"""
