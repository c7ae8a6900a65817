"""Renders variants as GLSL text."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import TracebackType
from typing import Any, TypeVar

import jinja2
from jinja2.ext import Extension

from codegen.includes import IncludeParams
from codegen.lines import LineDirectives
from codegen.params import Params
from codegen.shader import Shader, shader_of, unused_members
from spec_model.activations import ACTIVATION_CODES, RNN_ACTIVATION_CODES
from spec_model.errors import Position, SpecError
from spec_model.spec import Variant
from spec_model.stored_float import float_format
from spec_model.templates import Templates
from spec_model.vocabulary import CONTEXT_NAMES
from spec_model.yaml_reader import read_text

_TEMPLATE_BUGS = (
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    NameError,  # raised by Jinja for 1e999
)
ExtensionT = TypeVar("ExtensionT", bound=Extension)
TEMPLATE_ERRORS = (jinja2.TemplateError, RecursionError, SpecError, *_TEMPLATE_BUGS)
# Variables named after the words of the key `access`.
_ACCESS_WORDS = {
    "vec4_access": "vec4",
    "also_vec4_access": "also_vec4",
    "vec8_access": "vec8",
    "deferred_access": "deferred",
    "deferred4_access": "deferred_vec4",
}
_ACCESS = re.compile(rf"\{{%-?\s*set\s+(?P<name>{'|'.join(_ACCESS_WORDS)})\b")
_PRELUDE = "lib/prelude.glsl.j2"
_QUOTED = re.compile(r"'([^']+)'")


class _Undefined(jinja2.StrictUndefined):
    """Its message contains only the name, not the types of Python objects."""

    @property
    def _undefined_message(self) -> str:
        return f"'{self._undefined_name}' is undefined."


@dataclass(frozen=True, slots=True)
class Rendered:
    """A shader, its GLSL and the templates that it includes."""

    shader: Shader
    text: str
    digest: bytes  # of the text
    sources: frozenset[str]


def glsl_digest(shaders: Iterable[tuple[str, bytes]]) -> str:
    """The digest of all shaders, from their ids and digests: a single dependency for the build."""
    digest = hashlib.blake2b(digest_size=16)
    for name, text_digest in shaders:
        digest.update(f"{name}\n".encode() + text_digest)
    return digest.hexdigest() + "\n"


def unused_in(shaders: Iterable[Rendered]) -> Mapping[str, frozenset[str]]:
    """By kernel, the spec's push constants and constants that no shader uses."""
    return unused_members((each.shader.kernel, each.shader.own, each.text) for each in shaders)


class _Environment(jinja2.Environment):
    """Records the loaded templates in `used`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.used: set[str] = set()

    def absent(self, name: str) -> jinja2.Undefined:
        """The value of a parameter that an include does not pass."""
        return self.undefined(name=name)

    def get_template(
        self, name: str | jinja2.Template, *args: Any, **kwargs: Any
    ) -> jinja2.Template:
        """As in the base class."""
        template = super().get_template(name, *args, **kwargs)
        self.used.add(str(template.name))
        return template


def unrolled(*counts: int) -> Iterable[tuple[int, ...]]:
    """A function of templates: the indices of nested loops, the last one innermost."""
    return product(*map(range, counts))


class Renderer:
    """Renders variants from the templates of several directories."""

    def __init__(
        self,
        templates: Templates,
        *,
        locate_params: bool = True,
        extensions: Sequence[type[Extension]] = (),
    ) -> None:
        """`locate_params`: `#line` directives around params, which break lines. `extensions`: of
        Jinja, in addition to the generator's.
        """
        self._templates = templates
        self._locate_params = locate_params
        self._params = Params()
        self._sources: dict[str, str] = {}  # by name in messages
        self._environment = _Environment(
            loader=jinja2.FunctionLoader(self._load),
            extensions=[LineDirectives, IncludeParams, *extensions],
            undefined=_Undefined,
            finalize=self._finalize,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
            cache_size=-1,
        )
        self._environment.globals |= {
            "unrolled": unrolled,
            "float_format": float_format,
            "activations": ACTIVATION_CODES,
            "rnn_activations": RNN_ACTIVATION_CODES,
        }

    def extension(self, kind: type[ExtensionT]) -> ExtensionT:
        """The instance of one of the `extensions`."""
        found = self._environment.extensions[kind.identifier]
        assert isinstance(found, kind)
        return found

    def fill(self, shader: Shader) -> Rendered:
        """The GLSL. Errors in templates raise one of TEMPLATE_ERRORS."""
        self._environment.used.clear()
        template = self._environment.get_template(shader.template)
        self._params = Params()
        text = self._params.place(shader.header + template.render(shader.context))
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        return Rendered(shader, text, digest, frozenset(self._environment.used))

    def render(self, variant: Variant) -> Rendered:
        """The GLSL. Errors in templates raise SpecError at the template's line."""
        try:
            return self.fill(shader_of(variant))
        except jinja2.TemplateSyntaxError as error:
            raise self._syntax_error(error) from None
        except jinja2.TemplateNotFound as error:
            position = self._position(error.__traceback__, str(error.name), variant)
            message = f"Template '{error.name}' is not in any template directory."
            raise SpecError.at(position, message) from None
        except jinja2.UndefinedError as error:
            raise self._undefined(error, variant) from None
        except RecursionError as error:
            position = self._repeated(error.__traceback__, variant)
            message = "Templates or macros call each other recursively without end."
            raise SpecError.at(position, f"{message} {_note(variant)}") from None
        except (jinja2.TemplateError, *_TEMPLATE_BUGS) as error:
            words = _QUOTED.findall(str(error))
            position = self._position(error.__traceback__, words[0] if words else "", variant)
            raise SpecError.at(position, f"{_sentence(error)} {_note(variant)}") from None

    def _finalize(self, value: object) -> object:
        return self._params.mark(value) if self._locate_params else value

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        source = self._templates.find(name)
        if source is None:
            return None
        text = self._sources[source.name] = read_text(source)
        check_ascii(text, source.name)
        check_access(text, source.name)
        check_workgroup_counts(text, source.name)
        return text, source.name, lambda: True

    def _syntax_error(self, error: jinja2.TemplateSyntaxError) -> SpecError:
        file = error.filename or str(error.name)
        words = _QUOTED.findall(error.message or "")
        column = self._column(file, error.lineno, words[:1])
        position = Position(file, error.lineno, column)
        return SpecError.at(position, f"Template does not parse: {_sentence(error)}")

    def _undefined(self, error: jinja2.UndefinedError, variant: Variant) -> SpecError:
        name = str(error.message).split("'")[1]
        position = self._position(error.__traceback__, name, variant)
        known = ", ".join(sorted(CONTEXT_NAMES | set(variant.kernel.params)))
        return SpecError.at(position, f"{error.message} Known names are: {known}. {_note(variant)}")

    def _position(self, trace: TracebackType | None, word: str, variant: Variant) -> Position:
        """The innermost template line of a traceback."""
        found = self._lines(trace)
        if not found:
            return variant.kernel.position
        return Position(*found[-1], self._column(*found[-1], [word]))

    def _repeated(self, trace: TracebackType | None, variant: Variant) -> Position:
        """The most frequent template line of a traceback; of several, the outermost."""
        found = Counter(self._lines(trace)).most_common(1)
        if not found:
            return variant.kernel.position
        return Position(*found[0][0], self._column(*found[0][0], []))

    def _lines(self, trace: TracebackType | None) -> list[tuple[str, int]]:
        """The template lines of a traceback, outermost first."""
        lines = []
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file in self._sources:
                lines.append((file, trace.tb_lineno))
            trace = trace.tb_next
        return lines

    def _column(self, file: str, line: int, words: list[str]) -> int:
        """The column of the last match of a word in the line, otherwise of the first character."""
        lines = self._sources.get(file, "").split("\n")
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        for word in filter(None, words):
            matches = list(re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", text))
            if matches:
                return matches[-1].start() + 1
        return len(text) - len(text.lstrip()) + 1


def _sentence(error: Exception) -> str:
    text = str(getattr(error, "message", None) or error or type(error).__name__).rstrip(".")
    return text[:1].upper() + text[1:] + "."


def _note(variant: Variant) -> str:
    return f"(In variant {variant.id}.)"


_COMMENTS = re.compile(r"\{#.*?#\}|/\*.*?\*/|//[^\n]*", re.DOTALL)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def check_ascii(template: str, name: str) -> None:
    """Fails at the first non-ASCII character outside of comments."""
    code = _COMMENTS.sub(_blank, template)
    found = _NOT_ASCII.search(code)
    if found is None:
        return
    line = code.count("\n", 0, found.start()) + 1
    column = found.start() - code.rfind("\n", 0, found.start())
    message = f"Character '{found[0]}' is not allowed in GLSL outside of comments."
    raise SpecError.at(Position(name, line, column), message)


def check_access(template: str, name: str) -> None:
    """Fails at a variable that would declare the access of tensors: the prelude does not see it."""
    code = _COMMENTS.sub(_blank, template)
    found = _ACCESS.search(code)
    if found is None:
        return
    line = code.count("\n", 0, found.start("name")) + 1
    column = found.start("name") - code.rfind("\n", 0, found.start("name"))
    word = _ACCESS_WORDS[found["name"]]
    message = (
        f"'{found['name']}' has no effect, as library files do not see a template's variables. "
    )
    message += f"Declare it in the spec or next to the template: access: {{x: {word}}}."
    raise SpecError.at(Position(name, line, column), message)


def check_workgroup_counts(template: str, name: str) -> None:
    """Fails at a use of gl_NumWorkGroups outside of the prelude: the runtime divides long
    dispatches, so that the number of workgroups in the outermost dimension varies."""
    if name.endswith(_PRELUDE):
        return
    code = _COMMENTS.sub(_blank, template)
    start = code.find("gl_NumWorkGroups")
    if start < 0:
        return
    line = code.count("\n", 0, start) + 1
    message = "gl_NumWorkGroups is not the size of the grid if the runtime divides a dispatch. "
    message += "Call flat_index() or workgroup_index(), and pass sizes as push constants."
    raise SpecError.at(Position(name, line, start - code.rfind("\n", 0, start)), message)


def _blank(comment: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", comment[0])
