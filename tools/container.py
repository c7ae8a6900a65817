"""Implements `./dev test-container`: builds the image of Containerfile and requests a chat reply.

Needs root, buildah, debootstrap, and the wheel of `./dev wheel --manylinux`. The base image is a
root directory of tools/systems.py, so that no registry of images is required. Commands run with
buildah's isolation `chroot` and the network of this machine, which works without control groups.
Other engines are not tested.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spirloom import cli

from tests.llm.model_directory import write_model_directory
from tools.systems import BASES, ROOT, SystemsError, make_base

BASE_SUITE = "trixie"
BASE = "localhost/spirloom-base"
IMAGE = "localhost/spirloom"
ADDRESS = "http://127.0.0.1:8080"
STARTED_WITHIN = 120  # seconds
SECONDS_OF_POLLS = 0.5


def buildah(*arguments: str) -> str:
    """The output of buildah, whose images are in build/systems/images."""
    storage = ["--root", str(BASES / "images"), "--runroot", str(BASES / "images-run")]
    done = subprocess.run(
        ["buildah", *storage, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemsError(f"buildah {' '.join(arguments)}: exit code {done.returncode}.")
    return done.stdout.strip()


@contextmanager
def container(image: str) -> Iterator[str]:
    """The name of a container, removed at the end."""
    name = buildah("from", "--pull-never", image)
    try:
        yield name
    finally:
        buildah("rm", name)


def make_base_image() -> None:
    """An image of the bare root, with the name BASE."""
    with container("scratch") as name:
        buildah("add", "--quiet", name, str(make_base(BASE_SUITE)), "/")
        buildah("commit", "--quiet", name, BASE)


def build_image() -> None:
    """The image IMAGE."""
    buildah("build", "--isolation", "chroot", "--network", "host", "--build-arg", f"BASE={BASE}",
            "--pull-never", "--tag", IMAGE, "--file", "Containerfile", ".")  # fmt: skip


def command_of_image() -> list[str]:
    """What a container of the image runs by default."""
    image: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", IMAGE))
    command: list[str] = image["OCIv1"]["config"]["Cmd"]
    return command


def request(path: str, body: dict[str, Any] | None = None) -> Any:
    """The JSON reply of the server."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(ADDRESS + path, data, headers)) as reply:
        return json.loads(reply.read() or b"null")


def wait_for_server(process: subprocess.Popen[bytes]) -> None:
    """Returns when the server answers. SystemsError if it ends or does not answer in time."""
    deadline = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemsError(f"The container ended with {process.returncode}.")
        try:
            request("/v1/models")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(SECONDS_OF_POLLS)
        else:
            return
    raise SystemsError(f"The server does not answer within {STARTED_WITHIN} s.")


def make_models(directory: Path) -> None:
    """A tiny language model with random weights and a chat format, as model.slg."""
    directory.mkdir()
    directory.chmod(0o755)
    source = directory / "tiny"
    write_model_directory(source, "llama3", 512)
    if cli.main(["import", str(source), "-o", str(directory / "model.slg")]) != 0:
        raise SystemsError("The model of the test cannot be imported.")


def try_image(models: Path) -> None:
    """Raises SystemsError unless doctor finds no problem and the image replies to a chat."""
    storage = ["--root", str(BASES / "images"), "--runroot", str(BASES / "images-run")]
    with container(IMAGE) as name:
        options = ["--isolation", "chroot", "--network", "host", "--volume", f"{models}:/models:ro"]
        print(buildah("run", *options, name, "--", "spirloom", "doctor"))
        command = ["buildah", *storage, "run", *options, name, "--", *command_of_image()]
        with subprocess.Popen(command) as process:
            try:
                wait_for_server(process)
                body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}
                reply = request("/v1/chat/completions", body)
                print(reply)
                if reply["usage"]["completion_tokens"] < 1:
                    raise SystemsError(f"The reply contains no tokens: {reply}")
            finally:
                process.terminate()


def main() -> int:
    argparse.ArgumentParser(
        prog="./dev test-container",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    try:
        make_base_image()
        build_image()
        with tempfile.TemporaryDirectory() as name:
            Path(name).chmod(0o755)
            make_models(Path(name) / "models")
            try_image(Path(name) / "models")
    except SystemsError as error:
        print(f"test-container: {error}", file=sys.stderr)
        return 1
    print("test-container: the image builds, and serves a chat reply.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
