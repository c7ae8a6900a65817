"""uvicorn, which speaks HTTP, over the application."""

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
    """A socket that clients can connect to from now on; port 0 takes a free one. Raises
    InvalidArgument.
    """
    if not 0 <= port < 1 << 16:
        raise InvalidArgument(f"Cannot listen on port {port}: ports are below {1 << 16}.")
    try:
        kind, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=kind)
    except (OSError, UnicodeError) as error:
        reason = _reason(error)
        raise InvalidArgument(f"Cannot listen on {host}, port {port}: {reason}.") from error


def _reason(error: Exception) -> str:
    """Without the address, which create_server() would tell again; names have codes below 0."""
    if isinstance(error, OSError) and error.errno is not None:
        return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)
    return str(error)


def address(listening: socket.socket) -> str:
    """http://127.0.0.1:8080"""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(
    app: ASGIApp, listening: socket.socket, closing: Callable[[], None], *, access_log: bool
) -> None:
    """Answers until Ctrl-C or SIGTERM, which call `closing`: it ends the answers under way."""
    config = uvicorn.Config(
        app, lifespan="off", access_log=access_log, log_level="info" if access_log else "warning"
    )
    with suppress(KeyboardInterrupt):  # later releases raise it when all has ended
        _Server(config, closing).run(sockets=[listening])


class _Server(uvicorn.Server):  # type: ignore[misc]
    """One that waits for answers under way, which it tells to end."""

    def __init__(self, config: uvicorn.Config, closing: Callable[[], None]) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._closing()
        super().handle_exit(signal.Signals(sig), frame)
