"""The routes of OpenAI's API as a Starlette application: body limits, API keys, disconnects."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from spirloom.errors import SpirloomError
from spirloom.llm import LLM
from spirloom.serve.request_queue import Turns
from spirloom.serve.requests import Options, Prompt, read_chat, read_completion
from spirloom.serve.responses import CHAT, COMPLETION, END_OF_EVENTS, Answer, Form, Reply, event
from spirloom.serve.validation import Fields, Refused, blaming, parse, quoted

# A context of 128K tokens by their numbers has a seventh of it.
MAX_BODY = 8 << 20

T = TypeVar("T")


async def read_body(request: Request) -> bytes:
    """Raises Refused for one that is too large."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise Refused(f"The request has more than {MAX_BODY} bytes.", status=413)
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


# Of a completion, unless told, as OpenAI has it; a reply may take what is left of the context.
_TOKENS_OF_COMPLETIONS = 16

Prepared = tuple[Options, list[Reply]]


def make_app(llm: LLM, turns: Turns, name: str, key: str | None = None) -> Starlette:
    """Serves one model by a name, to those who know the key if there is one."""
    service = _Service(llm, turns, name)

    routes = [
        Route("/completions", service.complete, methods=["POST"]),
        Route("/chat/completions", service.chat, methods=["POST"]),
        Route("/models", service.models),
        Route("/models/{name:path}", service.one_model),
    ]
    guards = [] if key is None else [Middleware(KeyRequired, key=key)]
    return Starlette(
        routes=[Route("/health", service.health), Mount("/v1", routes=routes, middleware=guards)],
        exception_handlers={
            Refused: _refusal,
            SpirloomError: _failure,
            HTTPException: _no_route,
            ClientDisconnect: _nobody,
            Exception: _mistake,
        },
    )


class _Service:
    """The model, and what each route does with it."""

    def __init__(self, llm: LLM, turns: Turns, name: str) -> None:
        self._llm = llm
        self._turns = turns
        self._name = name
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
        if self._turns.failure is not None:
            return JSONResponse({"status": "failed", "reason": self._turns.failure}, 503)
        return JSONResponse({"status": "ok"})

    async def _answer(
        self, request: Request, form: Form, prepare: Callable[[Fields], Prepared]
    ) -> Response:
        self._turns.check_room()
        body = await read_body(request)
        options, replies = await asyncio.to_thread(lambda: prepare(parse(body)))
        answer = Answer(form, self._name, options.include_usage)
        if options.stream:
            return Events(self._events(answer, replies), headers={"Cache-Control": "no-cache"})
        return await unless_gone(request, self._whole(answer, replies))

    async def _whole(self, answer: Answer, replies: Sequence[Reply]) -> Response:
        texts = []
        for reply in replies:
            async with aclosing(self._turns.run(reply)) as pieces:
                texts.append("".join([piece async for piece in pieces]))
        return JSONResponse(answer.whole(texts, replies))

    async def _events(self, answer: Answer, replies: Sequence[Reply]) -> AsyncGenerator[str, None]:
        """What fails once the answer has begun is its last event."""
        try:
            for index, reply in enumerate(replies):
                yield answer.beginning(index)
                async with aclosing(self._turns.run(reply)) as pieces:
                    async for piece in pieces:
                        yield answer.piece(index, piece)
                yield answer.ending(index, reply)
            yield answer.usage(replies) + END_OF_EVENTS
        except Refused as refused:
            yield event(refused.body())
        except SpirloomError as error:
            yield event(_refused(error).body())

    def _prepare_completion(self, fields: Fields) -> Prepared:
        request = read_completion(fields)
        self._check_model(request.options.model)
        prompts = [self._tokens(prompt) for prompt in request.prompts]
        return self._replies(request.options, "prompt", prompts, _TOKENS_OF_COMPLETIONS)

    def _prepare_chat(self, fields: Fields) -> Prepared:
        request = read_chat(fields)
        self._check_model(request.options.model)
        with blaming("messages"):
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
        """`default_tokens` is how many tokens there may be then, if the context has room for them."""
        replies = []
        for prompt in prompts:
            room = max(1, self._llm.context - len(prompt))
            tokens = min(room, default_tokens) if options.tokens is None else options.tokens
            too_long = len(prompt) + tokens > self._llm.context
            with blaming(param, "context_length_exceeded" if too_long else None):
                reply = Reply(self._llm, prompt, tokens, options.sampling, options.stop)
            replies.append(reply)
        return options, replies

    def _check_model(self, name: str | None) -> None:
        if name is not None and name != self._name:
            raise Refused(
                f"There is no model {quoted(name)}; this server has {quoted(self._name)}.",
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


def _refused(error: SpirloomError) -> Refused:
    return Refused(str(error), code=error.status.name.lower(), status=500)


async def _refusal(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse(error.body(), error.status)


async def _failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, SpirloomError)
    return await _refusal(request, _refused(error))


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path}: {error.detail}."
    body = Refused(message, status=error.status_code).body()
    return JSONResponse(body, error.status_code, error.headers)


async def _nobody(_: Request, __: Exception) -> Response:
    """Nobody reads it."""
    return Response(status_code=400)


async def _mistake(request: Request, _: Exception) -> Response:
    """Of ours: uvicorn logs the traceback."""
    return await _refusal(request, Refused("The server failed; its log says how.", status=500))
