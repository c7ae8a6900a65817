"""The one thread that the model runs in: requests take turns, in the order in which they came."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event

from spirloom.runtime.errors import DeviceLost
from spirloom.serve.validation import Refused

MAX_WAITING = 64


class Turns:
    """Of texts that are made elsewhere than in the event loop, which is never blocked."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "spirloom-serve")
        self._taken = 0
        self._closing = Event()
        self.failure: str | None = None
        """Why no turn will succeed any more."""

    def check_room(self) -> None:
        """Raises Refused if too many wait already."""
        if self._taken > MAX_WAITING:
            raise Refused(
                f"{MAX_WAITING} requests wait for the model already; try again later.",
                code="queue_full",
                status=503,
            )

    async def run(self, text: Iterable[str]) -> AsyncGenerator[str, None]:
        """The pieces of a text, none empty, made when its turn comes. When this is closed, so is
        the text, at its next piece. Raises what making it raises, and Refused on closing().
        """
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        gone = Event()

        def put(piece: str | None) -> None:
            with suppress(RuntimeError):  # the loop has ended, as by a second Ctrl-C
                loop.call_soon_threadsafe(pieces.put_nowait, piece)

        def make() -> None:
            for piece in text:
                if gone.is_set() or self._closing.is_set():
                    return
                if piece:
                    put(piece)

        self._check_open()
        turn = self._thread.submit(make)
        turn.add_done_callback(lambda _: put(None))
        self._taken += 1
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            self._check_open()
            turn.result()
        except DeviceLost as error:
            self.failure = str(error)
            raise
        finally:
            self._taken -= 1
            gone.set()
            turn.cancel()

    def closing(self) -> None:
        """Ends all turns soon. May be called by the handler of a signal."""
        self._closing.set()

    def close(self) -> None:
        """Waits until none is left."""
        self.closing()
        self._thread.shutdown(cancel_futures=True)

    def _check_open(self) -> None:
        if self._closing.is_set():
            raise Refused("The server is ending.", code="server_ending", status=503)
