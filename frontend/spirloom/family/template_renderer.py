"""Renders untrusted Jinja templates in a child process with limits on memory and time.

Jinja's sandbox denies access to Python objects, but `{{ 'x' * 10**10 }}` takes 10 GB. The child
runs this file as a script, which therefore imports nothing of the package.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

MAX_TEMPLATE = 1 << 20  # characters
MAX_OUTPUT = 1 << 24  # characters
MAX_ERROR = 1 << 10  # characters
MAX_BYTES = 1 << 30
MAX_SECONDS = 10

_LIMITS = f"more than {MAX_SECONDS} seconds or {MAX_BYTES >> 20} MiB"
_START = """\
import json, runpy, sys
sys.path[:] = json.loads(sys.argv[1])
runpy.run_path(sys.argv[2], run_name="__main__")
"""


class RenderError(Exception):
    """The template is invalid, fails or exceeds a limit: a clause such as `it fails (…)`."""


class TemplateRenderer:
    """A template in a child process, which close() or the end of a `with` block ends."""

    def __init__(self, template: str, variables: Mapping[str, str]) -> None:
        """`variables`: values that the template may use besides those of render(). Raises
        RenderError."""
        if len(template) > MAX_TEMPLATE:
            raise RenderError(f"it has more than {MAX_TEMPLATE} characters")
        from spirloom import child_python  # which the child cannot import

        path = json.dumps([folder for folder in sys.path if folder])
        arguments = ("-E", "-S", "-c", _START, path, __file__)
        self._process = child_python.start(
            *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        try:
            self._ask({"template": template, "variables": dict(variables)})
        except RenderError:
            self.close()
            raise

    def __enter__(self) -> TemplateRenderer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def render(self, messages: Sequence[Mapping[str, str]], generate: bool) -> str:
        """Renders a conversation as transformers does, `generate` being add_generation_prompt.
        Raises RenderError."""
        plain = [dict(message) for message in messages]
        text: str = self._ask({"messages": plain, "generate": generate})
        return text

    def close(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()

    def _ask(self, request: Mapping[str, Any]) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
            line = stdout.readline()
        except OSError:  # EPIPE, on Windows EINVAL
            line = b""
        if not line:
            raise RenderError(f"rendering it requires {_LIMITS}")
        answer = json.loads(line)
        if "error" in answer:
            raise RenderError(answer["error"])
        return answer["text"]


def _limit_resources() -> None:
    if sys.platform == "win32":
        _limit_windows_job()
        return
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))


def _limit_windows_job() -> None:
    """Limits memory and CPU time of this process by a job object. Raises OSError."""
    import ctypes
    from ctypes import wintypes

    class Limits(ctypes.Structure):
        """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

        _fields_ = (
            ("process_time", ctypes.c_int64),  # in 100 ns
            ("job_time", ctypes.c_int64),
            ("flags", wintypes.DWORD),
            ("min_working_set", ctypes.c_size_t),
            ("max_working_set", ctypes.c_size_t),
            ("active_processes", wintypes.DWORD),
            ("affinity", ctypes.c_size_t),
            ("priority_class", wintypes.DWORD),
            ("scheduling_class", wintypes.DWORD),
            ("io_counters", ctypes.c_uint64 * 6),
            ("process_memory", ctypes.c_size_t),
            ("job_memory", ctypes.c_size_t),
            ("peak_process_memory", ctypes.c_size_t),
            ("peak_job_memory", ctypes.c_size_t),
        )

    process_time, process_memory, extended_limits = 0x2, 0x100, 9
    kernel32: Any = getattr(ctypes, "WinDLL")("kernel32", use_last_error=True)  # noqa: B009
    kernel32.CreateJobObjectW.restype = wintypes.HANDLE
    kernel32.GetCurrentProcess.restype = wintypes.HANDLE
    job = wintypes.HANDLE(kernel32.CreateJobObjectW(None, None))
    limits = Limits(
        process_time=MAX_SECONDS * 10_000_000,
        flags=process_time | process_memory,
        process_memory=MAX_BYTES,
    )
    size = wintypes.DWORD(ctypes.sizeof(limits))
    process = wintypes.HANDLE(kernel32.GetCurrentProcess())
    if not (
        kernel32.SetInformationJobObject(job, extended_limits, ctypes.byref(limits), size)
        and kernel32.AssignProcessToJobObject(job, process)
    ):
        raise OSError("The process cannot be limited.")


def _compile(template: str) -> Any:
    """Like transformers, without `strftime_now`, the date of the import."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def fail(message: str) -> None:
        raise TemplateError(message)

    def to_json(value: object, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=False, **options)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = fail
    try:
        return environment.from_string(template)
    except (TemplateError, RecursionError) as error:
        raise RenderError(f"it is not a valid template ({error})") from error


def _render(compiled: Any, request: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    from jinja2 import TemplateError

    messages, generate = request["messages"], request["generate"]
    try:
        text: str = compiled.render(messages=messages, add_generation_prompt=generate, **variables)
    except (TemplateError, RecursionError) as error:
        raise RenderError(f"it refuses the conversation ({error})") from error
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise RenderError(f"it fails ({error})") from error
    if len(text) > MAX_OUTPUT:
        raise RenderError(f"its output has {len(text)} characters; the maximum is {MAX_OUTPUT}")
    return text


def _shortened(message: str) -> str:
    """A message of which a template may determine the length."""
    if len(message) <= MAX_ERROR:
        return message
    return f"{message[:MAX_ERROR]}… [{len(message)} characters]"


def _serve() -> None:
    """Answers one line of JSON per request on standard input."""
    _limit_resources()
    compiled: Any = None
    variables: Mapping[str, str] = {}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = {"text": ""}
        try:
            if "template" in request:
                variables = request["variables"]
                compiled = _compile(request["template"])
            else:
                answer = {"text": _render(compiled, request, variables)}
        except RenderError as error:
            answer = {"error": _shortened(str(error))}
        except MemoryError:
            answer = {"error": f"rendering it requires {_LIMITS}"}
        except ImportError as error:
            answer = {
                "error": f"rendering it requires the Python module '{error.name}'. Install it (pip "
                f"install {error.name}), and import the model again"
            }
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
