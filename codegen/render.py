"""Variants → GLSL text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace, TracebackType

import jinja2

from codegen.errors import Position, SpecError
from codegen.lines import LineDirectives
from codegen.spec import BoundTensor, Constant, PushMember, Variant
from codegen.templates import Templates
from codegen.vocabulary import COMMON_EXTENSIONS, CONTEXT_NAMES
from codegen.yaml_reader import read_text

_TEMPLATE_BUGS = (
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
)
_QUOTED = re.compile(r"'([^']+)'")


class _Undefined(jinja2.StrictUndefined):
    """Says only which name is missing; types of our objects mean nothing to template authors."""

    @property
    def _undefined_message(self) -> str:
        return f"'{self._undefined_name}' is undefined."


@dataclass(frozen=True, slots=True)
class Rendered:
    """The GLSL of a variant."""

    variant: Variant
    text: str


class Renderer:
    """Renders variants from the templates of some folders."""

    def __init__(self, templates: Templates) -> None:
        self._templates = templates
        self._sources: dict[str, str] = {}  # by the name in messages
        self._environment = jinja2.Environment(
            loader=jinja2.FunctionLoader(self._load),
            extensions=[LineDirectives],
            undefined=_Undefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
            cache_size=-1,
        )

    def render(self, variant: Variant) -> Rendered:
        """The GLSL. Template mistakes become SpecErrors at the template's line."""
        try:
            template = self._environment.get_template(variant.kernel.template)
            body = template.render(_context(variant))
        except jinja2.TemplateSyntaxError as error:
            raise self._syntax_error(error) from None
        except jinja2.TemplateNotFound as error:
            position = self._position(error.__traceback__, str(error.name), variant)
            message = f"Template '{error.name}' is in none of the template folders."
            raise SpecError.at(position, message) from None
        except jinja2.UndefinedError as error:
            raise self._undefined(error, variant) from None
        except RecursionError as error:
            position = self._position(error.__traceback__, "", variant)
            message = "Templates or macros call each other without end."
            raise SpecError.at(position, f"{message} {_note(variant)}") from None
        except (jinja2.TemplateError, *_TEMPLATE_BUGS) as error:
            words = _QUOTED.findall(str(error))
            position = self._position(error.__traceback__, words[0] if words else "", variant)
            raise SpecError.at(position, f"{_sentence(error)} {_note(variant)}") from None
        return Rendered(variant, _header(variant) + body)

    def _load(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        source = self._templates.find(name)
        if source is None:
            return None
        text = self._sources[source.name] = read_text(source)
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
        found: tuple[str, int] | None = None
        while trace is not None:
            file = trace.tb_frame.f_code.co_filename
            if file in self._sources:
                found = (file, trace.tb_lineno)
            trace = trace.tb_next
        if found is None:
            return variant.kernel.position
        return Position(*found, self._column(*found, [word]))

    def _column(self, file: str, line: int, words: list[str]) -> int:
        """Where the line has one of the words, else where its text starts."""
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


def _header(variant: Variant) -> str:
    extensions = list(COMMON_EXTENSIONS)
    for capability in variant.needs:
        extensions += capability.extensions
    lines = ["#version 450", *(f"#extension {name} : require" for name in sorted(set(extensions)))]
    return "\n".join(lines) + "\n"


def _context(variant: Variant) -> dict[str, object]:
    tensors = [_tensor(x) for x in variant.tensors]
    return {
        **variant.kernel.params,
        **{name: str(v) if not isinstance(v, int) else v for name, v in variant.values.items()},
        "variant": SimpleNamespace(id=variant.id, op=variant.op, kernel=variant.kernel.name),
        "tensors": tensors,
        "t": SimpleNamespace(**{x.name: x for x in tensors}),
        "push": [_member(m) for m in variant.kernel.push],
        "constants": [_constant(c) for c in variant.kernel.constants],
        "workgroup": list(variant.kernel.workgroup),
    }


def _tensor(tensor: BoundTensor) -> SimpleNamespace:
    glsl = tensor.glsl
    return SimpleNamespace(
        name=tensor.name,
        binding=tensor.binding,
        dtype=str(tensor.dtype),
        storage=str(tensor.storage),
        access=str(tensor.access),
        optional=tensor.optional,
        scalar=glsl.scalar,
        type=glsl.type,
        vec4=glsl.vec4,
        texel=glsl.texel,
        image_format=glsl.image_format,
        image_prefix=glsl.image_prefix,
    )


def _member(member: PushMember) -> SimpleNamespace:
    return SimpleNamespace(name=member.name, type=member.type, count=member.count or 1)


def _constant(constant: Constant) -> SimpleNamespace:
    return SimpleNamespace(
        name=constant.name, id=constant.id, type=constant.type, default=constant.default
    )
