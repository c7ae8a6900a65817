"""What of HTTP Starlette leaves open: bodies of a limited size, keys, clients that go away."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from spirloom.serve.refusals import Refused

# A context of 128K tokens by their numbers has a seventh of it.
MOST_BODY = 8 << 20

T = TypeVar("T")


async def read_body(request: Request) -> bytes:
    """Raises Refused for one that is too large."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            raise Refused(f"The request has more than {MOST_BODY} bytes.", status=413)
    return bytes(body)


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What the work gives. If the client goes away it is cancelled; raises ClientDisconnect."""

    async def wait_for_the_end() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working = asyncio.create_task(work)
    leaving = asyncio.create_task(wait_for_the_end())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


class Events(StreamingResponse):  # type: ignore[misc]
    """Server-sent events of an asynchronous generator, which ends when the client has gone."""

    media_type = "text/event-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        generator: Any = self.body_iterator
        async with aclosing(generator):
            await super().__call__(scope, receive, send)


class KeyRequired:
    """Lets only those pass who send `Authorization: Bearer KEY`."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._wanted = f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("authorization", "")
        if not hmac.compare_digest(given.encode("latin-1"), self._wanted):
            raise Refused(
                "The request needs this server's key, as Authorization: Bearer KEY.",
                code="invalid_api_key",
                status=401,
            )
        await self._app(scope, receive, send)
