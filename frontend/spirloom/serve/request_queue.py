"""Runs requests on the model in one worker thread, in order of arrival."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event
from typing import TypeVar

from spirloom.runtime.errors import DeviceLost
from spirloom.serve.validation import RequestError

MAX_WAITING = 64
MAX_ARRIVING = 256 << 20  # bytes of all request bodies that are still arriving

T = TypeVar("T")


class RequestQueue:
    """Generates texts in a worker thread, one at a time, without blocking the event loop."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "spirloom-serve")
        self._preparation = ThreadPoolExecutor(1, "spirloom-prepare")
        self._admitted = 0
        self._arriving = 0
        self._shutting_down = Event()
        self.failure: str | None = None
        """The error after which all requests fail, such as a lost device."""

    @contextmanager
    def arriving(self) -> Iterator[Callable[[int], None]]:
        """Counts the bytes of a request body while it arrives: the result adds some. It raises
        RequestError if all bodies have more than MAX_ARRIVING bytes."""
        size = 0

        def add(count: int) -> None:
            nonlocal size
            if self._arriving + count > MAX_ARRIVING:
                raise RequestError(
                    f"Requests of {MAX_ARRIVING} bytes are already arriving. Try again later.",
                    code="queue_full",
                    status=503,
                )
            self._arriving += count
            size += count

        try:
            yield add
        finally:
            self._arriving -= size

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Counts a request until it is answered. Raises RequestError if MAX_WAITING requests are
        waiting behind one."""
        if self._admitted > MAX_WAITING:
            raise RequestError(
                f"{MAX_WAITING} requests are already waiting for the model. Try again later.",
                code="queue_full",
                status=503,
            )
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    async def prepare(self, work: Callable[[], T]) -> T:
        """Returns the result of `work`, such as tokenization, after the preparations before it: one
        at a time bounds the memory and leaves the processor to generation."""
        return await asyncio.get_running_loop().run_in_executor(self._preparation, work)

    async def run(self, text: Iterable[str]) -> AsyncGenerator[str, None]:
        """Yields the non-empty pieces of a text, generated after the requests before it. Closing
        the generator ends the text at its next piece. Raises the exceptions of the text, and
        RequestError after shut_down().
        """
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        abandoned = Event()

        def put(piece: str | None) -> None:
            with suppress(RuntimeError):  # the loop is closed, as by a second Ctrl-C
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        def generate() -> None:
            for piece in text:
                if abandoned.is_set() or self._shutting_down.is_set():
                    return
                if piece:
                    put(piece)

        self._check_open()
        task = self._thread.submit(generate)
        task.add_done_callback(lambda _: put(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            self._check_open()
            task.result()
        except DeviceLost as error:
            self.failure = str(error)
            raise
        finally:
            abandoned.set()
            task.cancel()

    def shut_down(self) -> None:
        """Ends all requests at their next piece. Safe to call in a signal handler."""
        self._shutting_down.set()

    def close(self) -> None:
        """Shuts down and waits for the worker threads."""
        self.shut_down()
        for executor in (self._preparation, self._thread):
            executor.shutdown(cancel_futures=True)

    def _check_open(self) -> None:
        if self._shutting_down.is_set():
            raise RequestError(
                "The server is shutting down.", code="server_shutting_down", status=503
            )
