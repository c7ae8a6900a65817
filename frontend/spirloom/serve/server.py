"""Runs the application with uvicorn."""

from __future__ import annotations

import os
import signal
import socket
import threading
from asyncio import TimerHandle, Transport
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from spirloom.runtime.errors import InvalidArgument

# Requests on more connections are answered with 503.
_MAX_CONNECTIONS = 512
_HEAD_SECONDS = 10
_SHUTDOWN_SECONDS = 5


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 selects a free port. Raises InvalidArgument."""
    if not 0 <= port < 1 << 16:
        raise InvalidArgument(f"Cannot listen on port {port}: expected 0 to 65535.")
    try:
        kind, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.create_server(address[:2], family=kind)
        # Accepted connections inherit it: each token is sent at once.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
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
    """Serves until Ctrl-C or SIGTERM, which call `shut_down` to end the requests in progress and
    close the connections that remain after _SHUTDOWN_SECONDS."""
    with suppress(KeyboardInterrupt):  # newer releases of uvicorn raise it after the shutdown
        _Server(make_config(app, access_log=access_log), shut_down).run(sockets=[listening])


def make_config(app: ASGIApp, *, access_log: bool) -> uvicorn.Config:
    """The configuration of uvicorn, with limits of connections and of the time of a request."""
    return uvicorn.Config(
        app,
        http=_Protocol,
        lifespan="off",
        limit_concurrency=_MAX_CONNECTIONS,
        access_log=access_log,
        log_level="info" if access_log else "warning",
    )


class _Server(uvicorn.Server):  # type: ignore[misc]
    """A server that ends the requests in progress on a signal."""

    def __init__(self, config: uvicorn.Config, shut_down: Callable[[], None]) -> None:
        super().__init__(config)
        self._shutting_down = shut_down

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._shutting_down()
        super().handle_exit(signal.Signals(sig), frame)
        timer = threading.Timer(_SHUTDOWN_SECONDS, self._force_exit)
        timer.daemon = True
        timer.start()

    def _force_exit(self) -> None:
        self.force_exit = True


class _Protocol(H11Protocol):  # type: ignore[misc]
    """Closes a connection on which a request's head does not arrive within _HEAD_SECONDS."""

    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, error: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(error)

    def _watch_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._cancel_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(_HEAD_SECONDS, self.transport.close)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
