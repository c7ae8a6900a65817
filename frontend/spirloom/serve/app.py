"""The routes of OpenAI's API as a Starlette application: body limits, API keys, disconnects."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from spirloom.errors import SpirloomError
from spirloom.llm import LLM
from spirloom.serve.request_queue import RequestQueue
from spirloom.serve.requests import MAX_PROMPTS, Options, Prompt, read_chat, read_completion
from spirloom.serve.responses import (
    CHAT,
    COMPLETION,
    END_OF_EVENTS,
    Answer,
    Reply,
    ResponseFormat,
    event,
)
from spirloom.serve.validation import Fields, RequestError, parse, quoted, request_errors

_PAGE = Path(__file__).resolve().parent / "page"
# Nothing from other servers, and no inline scripts.
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_MAX_BODY = 8 << 20
_BODY_SECONDS = 60

T = TypeVar("T")


def max_body(llm: LLM) -> int:
    """The size in bytes of the largest request that can fit the context: a prompt of which every
    byte is escaped, or MAX_PROMPTS prompts of token ids."""
    text = llm.max_prompt_length
    if text is None:
        return _MAX_BODY
    return min(_MAX_BODY, (64 << 10) + 6 * text + 8 * MAX_PROMPTS * llm.context)


async def read_body(request: Request, limit: int, arrived: Callable[[int], None]) -> bytes:
    """Reads the request body. `arrived` receives the bytes of each part that is kept. Raises
    RequestError if the body exceeds `limit` bytes, or _BODY_SECONDS."""
    body, size = bytearray(), 0
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= limit:
                    arrived(len(chunk))
                    body += chunk
                elif size > 2 * _MAX_BODY:  # a client that still sends misses the response
                    break
    except TimeoutError as error:
        message = f"The request body did not arrive within {_BODY_SECONDS} seconds."
        raise RequestError(message, status=408) from error
    if size > limit:
        raise RequestError(f"The request body exceeds {limit} bytes.", status=413)
    return bytes(body)


async def run_unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Returns the result of `work`. Cancels it and raises ClientDisconnect on disconnect."""

    async def wait_for_disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    working = asyncio.create_task(work)
    disconnect = asyncio.create_task(wait_for_disconnect())
    try:
        await asyncio.wait((working, disconnect), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, disconnect):
            task.cancel()
        await asyncio.gather(working, disconnect, return_exceptions=True)


class Events(StreamingResponse):  # type: ignore[misc]
    """Server-sent events of an asynchronous generator. Closes it when the client disconnects, and
    `resources` at the end."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[str, None], resources: ExitStack) -> None:
        super().__init__(events, headers={"Cache-Control": "no-cache"})
        self._resources = resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        generator: Any = self.body_iterator
        with self._resources:
            async with aclosing(generator):
                await super().__call__(scope, receive, send)


class ApiKeyMiddleware:
    """Rejects requests without the header `Authorization: Bearer KEY`."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scheme, _, key = Headers(scope=scope).get("authorization", "").partition(" ")
        given = key.strip().encode("latin-1")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._key):
            raise RequestError(
                "The request requires the server's API key: Authorization: Bearer KEY.",
                code="invalid_api_key",
                status=401,
            )
        await self._app(scope, receive, send)


_AUTHORITY = re.compile(r"\Ahttps?://[^/]*", re.IGNORECASE)


class OriginForm:
    """Accepts request targets in absolute form (GET http://host/path), as HTTP requires of
    servers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "path": _AUTHORITY.sub("", scope["path"]) or "/"}
        await self._app(scope, receive, send)


# OpenAI's default of max_tokens for completions. The default for chats is the rest of the context.
_DEFAULT_COMPLETION_TOKENS = 16

Prepared = tuple[Options, list[Reply]]


def make_app(llm: LLM, queue: RequestQueue, name: str, key: str | None = None) -> Starlette:
    """The application: serves one model under a name, with an optional API key."""
    service = _Service(llm, queue, name)

    routes = [
        Route("/completions", service.complete, methods=["POST"]),
        Route("/chat/completions", service.chat, methods=["POST"]),
        Route("/models", service.models),
        Route("/models/{name:path}", service.one_model),
    ]
    page = [Route(f"/{name}", _page, methods=["GET"]) for name in ("", "style.css", "script.js")]
    guards = [] if key is None else [Middleware(ApiKeyMiddleware, key=key)]
    app = Starlette(
        routes=[
            *page,
            Route("/health", service.health),
            Mount("/v1", routes=routes, middleware=guards),
        ],
        middleware=[Middleware(OriginForm)],
        exception_handlers={
            RequestError: _error_response,
            SpirloomError: _spirloom_error,
            HTTPException: _http_error,
            ClientDisconnect: _disconnected,
            Exception: _internal_error,
        },
    )
    app.router.redirect_slashes = False  # redirects repeat the request's Host, whatever it is
    return app


class _Service:
    """The handlers of the routes."""

    def __init__(self, llm: LLM, queue: RequestQueue, name: str) -> None:
        self._llm = llm
        self._queue = queue
        self._name = name
        self._max_body = max_body(llm)
        self._loaded = int(time.time())

    async def complete(self, request: Request) -> Response:
        return await self._answer(request, COMPLETION, self._prepare_completion)

    async def chat(self, request: Request) -> Response:
        return await self._answer(request, CHAT, self._prepare_chat)

    async def models(self, _: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def one_model(self, request: Request) -> Response:
        self._check_model(request.path_params["name"])
        return JSONResponse(self._model())

    async def health(self, _: Request) -> Response:
        if self._queue.failure is not None:
            return JSONResponse({"status": "failed", "reason": self._queue.failure}, 503)
        return JSONResponse({"status": "ok"})

    async def _answer(
        self, request: Request, form: ResponseFormat, prepare: Callable[[Fields], Prepared]
    ) -> Response:
        with self._queue.arriving() as arrived:
            body = await read_body(request, self._max_body, arrived)
        with ExitStack() as resources:
            resources.enter_context(self._queue.admitted())
            options, replies = await self._queue.prepare(lambda: prepare(parse(body)))
            answer = Answer(form, self._name, options.include_usage)
            if options.stream:
                return Events(self._events(answer, replies), resources.pop_all())
            return await run_unless_disconnected(request, self._response(answer, replies))

    async def _response(self, answer: Answer, replies: Sequence[Reply]) -> Response:
        texts = []
        for reply in replies:
            async with aclosing(self._queue.run(reply)) as pieces:
                texts.append("".join([piece async for piece in pieces]))
        return JSONResponse(answer.whole(texts, replies))

    async def _events(self, answer: Answer, replies: Sequence[Reply]) -> AsyncGenerator[str, None]:
        """The events of a stream. An error after the first event is sent as the last event."""
        try:
            for index, reply in enumerate(replies):
                yield answer.beginning(index)
                async with aclosing(self._queue.run(reply)) as pieces:
                    async for piece in pieces:
                        yield answer.piece(index, piece)
                yield answer.ending(index, reply)
            yield answer.usage(replies) + END_OF_EVENTS
        except RequestError as error:
            yield event(error.body())
        except SpirloomError as error:
            yield event(_server_error(error).body())

    def _prepare_completion(self, fields: Fields) -> Prepared:
        request = read_completion(fields)
        self._check_model(request.options.model)
        with request_errors("prompt"):
            prompts = [self._tokens(prompt) for prompt in request.prompts]
        return self._replies(request.options, "prompt", prompts, _DEFAULT_COMPLETION_TOKENS)

    def _prepare_chat(self, fields: Fields) -> Prepared:
        request = read_chat(fields)
        self._check_model(request.options.model)
        with request_errors("messages"):
            prompt = self._llm.encode_chat(request.messages)
        return self._replies(request.options, "messages", [prompt], self._llm.context)

    def _tokens(self, prompt: Prompt) -> list[int]:
        return self._llm.encode(prompt) if isinstance(prompt, str) else prompt

    def _replies(
        self,
        options: Options,
        param: str,
        prompts: Sequence[Sequence[int]],
        default_tokens: int,
    ) -> Prepared:
        """`default_tokens` limits new tokens, within the context, if the request has no limit."""
        replies = []
        for prompt in prompts:
            room = max(1, self._llm.context - len(prompt))
            tokens = min(room, default_tokens) if options.tokens is None else options.tokens
            with request_errors(param):
                reply = Reply(self._llm, prompt, tokens, options.sampling, options.stop)
            replies.append(reply)
        return options, replies

    def _check_model(self, name: str | None) -> None:
        if name is not None and name != self._name:
            raise RequestError(
                f"Unknown model {quoted(name)}; this server has {quoted(self._name)}.",
                param="model",
                code="model_not_found",
                status=404,
            )

    def _model(self) -> dict[str, object]:
        return {
            "id": self._name,
            "object": "model",
            "created": self._loaded,
            "owned_by": "spirloom",
            "context_length": self._llm.context,
        }


async def _page(request: Request) -> Response:
    """The page at `/`, which calls the API: it needs no key, and contains no data."""
    path = _PAGE / (request.url.path.strip("/") or "index.html")
    return FileResponse(path, headers={"Content-Security-Policy": _POLICY})


def _server_error(error: SpirloomError) -> RequestError:
    return RequestError(str(error), code=error.status.name.lower(), status=500)


async def _error_response(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return JSONResponse(error.body(), error.status)


async def _spirloom_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, SpirloomError)
    return await _error_response(request, _server_error(error))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path}: {error.detail}."
    body = RequestError(message, status=error.status_code).body()
    return JSONResponse(body, error.status_code, error.headers)


async def _disconnected(_: Request, __: Exception) -> Response:
    """The client does not receive this response."""
    return Response(status_code=400)


async def _internal_error(request: Request, _: Exception) -> Response:
    """An unexpected exception. uvicorn logs the traceback."""
    error = RequestError("Internal server error. See the server's log.", status=500)
    return await _error_response(request, error)
