"""GPU benchmarks: calls, networks and language models, compared with PyTorch on CUDA.

`bundle` packages the benchmark for other machines; `page` generates the page from the results.
"""
