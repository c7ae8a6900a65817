"""spirloom serve: serves a language model over HTTP with the OpenAI API."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from spirloom.formats.options import KV_CACHE_DTYPES

KEY_VARIABLE = "SPIRLOOM_API_KEY"

EXAMPLES = """\
examples:
  spirloom import Qwen3-0.6B-Q8_0.gguf -o qwen.slg --context 4096
  spirloom serve qwen.slg
  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \\
       -d '{"messages": [{"role": "user", "content": "What is Vulkan?"}], "stream": true}'
  python -c 'from openai import OpenAI
  client = OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none")
  print(client.completions.create(model="qwen", prompt="Once").choices[0].text)'
"""


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "serve",
        help="serve a language model over HTTP with the OpenAI API",
        description="Serves a language model at /v1/chat/completions, /v1/completions, "
        "/v1/models and /health, one request at a time. Requires starlette, uvicorn and "
        "tokenizers: pip install starlette uvicorn tokenizers. Supported parts of the OpenAI API: "
        "page 'Serve a language model over HTTP' of the documentation.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="a graph file (.slg), or a GGUF file or Hugging Face directory, which is imported on "
        "first use",
    )
    parser.add_argument(
        "--context",
        type=int,
        metavar="TOKENS",
        help="rows of the KV caches of a model that is imported (default: the training context, at "
        "most 4096)",
    )
    parser.add_argument(
        "--kv-cache",
        choices=KV_CACHE_DTYPES,
        help="dtype of the KV caches (default: the graph file's, or that of activations)",
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8080,
        help="port to listen on; 0: a free port (default: %(default)s)",
    )
    parser.add_argument("--name", help="model name for clients (default: the file name)")
    parser.add_argument(
        "--api-key",
        metavar="KEY",
        default=os.environ.get(KEY_VARIABLE) or None,
        help="the key that clients must send (default: the environment variable "
        f"{KEY_VARIABLE}, which is not visible to other users; without both, no key is required)",
    )
    parser.add_argument(
        "--tokenizer", type=Path, metavar="FILE", help="a tokenizer.json that replaces the model's"
    )
    parser.add_argument(
        "--device", help="a device's index, id or part of its name, as for spirloom run"
    )
    parser.add_argument("--access-log", action="store_true", help="print a line for each request")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serves until Ctrl-C."""
    # First, because these packages may be missing.
    from spirloom.serve.app import make_app
    from spirloom.serve.server import address, listen
    from spirloom.serve.server import run as run_server

    # Then the address, because loading may be slow.
    with listen(arguments.host, arguments.port) as listening:
        from spirloom.llm import LLM
        from spirloom.runtime.runtime import Runtime
        from spirloom.serve.request_queue import RequestQueue

        runtime = Runtime(arguments.device)
        llm = LLM(
            arguments.model,
            tokenizer=arguments.tokenizer,
            runtime=runtime,
            reuse=True,
            context=arguments.context,
            kv_cache=arguments.kv_cache,
        )
        llm.encode("")  # fails now if the tokenizer cannot be read
        name, queue = arguments.name or arguments.model.stem, RequestQueue()
        app = make_app(llm, queue, name, arguments.api_key)
        has_key = arguments.api_key is not None
        print(greeting(name, address(listening), runtime.device.name, has_key), flush=True)
        try:
            run_server(app, listening, queue.shut_down, access_log=arguments.access_log)
        finally:
            queue.close()
    return 0


def greeting(name: str, url: str, device: str, has_key: bool) -> str:
    """The line with the addresses of the API and of the page, and a command to try."""
    body = '{"prompt": "Once upon a time", "stream": true}'
    key = " -H 'Authorization: Bearer KEY'" if has_key else ""
    return (
        f"Serving {name} on {device} at {url}/v1 (page: {url}/, Ctrl-C ends it): "
        f"curl -N {url}/v1/completions -H 'Content-Type: application/json'{key} -d '{body}'"
    )
