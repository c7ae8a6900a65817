"""Runs the application with uvicorn."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from spirloom.runtime.errors import InvalidArgument


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 selects a free port. Raises InvalidArgument."""
    if not 0 <= port < 1 << 16:
        raise InvalidArgument(f"Cannot listen on port {port}: expected 0 to 65535.")
    try:
        kind, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=kind)
    except (OSError, UnicodeError) as error:
        reason = _reason(error)
        raise InvalidArgument(f"Cannot listen on {host}, port {port}: {reason}.") from error


def _reason(error: Exception) -> str:
    """The reason without the address, which create_server() adds. Resolver errors are negative."""
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)
    return str(error)


def address(listening: socket.socket) -> str:
    """http://127.0.0.1:8080"""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(
    app: ASGIApp, listening: socket.socket, shut_down: Callable[[], None], *, access_log: bool
) -> None:
    """Serves until Ctrl-C or SIGTERM, which call `shut_down` to end the requests in progress."""
    config = uvicorn.Config(
        app, lifespan="off", access_log=access_log, log_level="info" if access_log else "warning"
    )
    with suppress(KeyboardInterrupt):  # newer releases of uvicorn raise it after the shutdown
        _Server(config, shut_down).run(sockets=[listening])


class _Server(uvicorn.Server):  # type: ignore[misc]
    """A server that ends the requests in progress on a signal."""

    def __init__(self, config: uvicorn.Config, shut_down: Callable[[], None]) -> None:
        super().__init__(config)
        self._shutting_down = shut_down

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._shutting_down()
        super().handle_exit(signal.Signals(sig), frame)
