"""Chat templates are converted to text pieces with the same result, or refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from spirloom.errors import ImportFailure
from spirloom.family.chat_template import chat_pieces, expand

# Shortened templates of model families.
CHATML = """\
{%- if messages[0]['role'] == 'system' -%}
  {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
{%- else -%}
  {{- '<|im_start|>system\\nYou are helpful.<|im_end|>\\n' }}
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == 'user' or (message.role == 'system' and not loop.first) -%}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
  {%- elif message.role == 'assistant' -%}
    {%- set content = message.content.split('</think>')[-1] -%}
    {{- '<|im_start|>assistant\\n' -}}
    {%- if loop.last -%}{{- '<think>\\n\\n</think>\\n\\n' -}}{%- endif -%}
    {{- content + '<|im_end|>\\n' }}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' }}{%- endif -%}
"""
LLAMA3 = """\
{{- bos_token }}
{%- if not date_string is defined -%}
  {%- if strftime_now is defined -%}{%- set date_string = strftime_now("%d %b %Y") -%}
  {%- else -%}{%- set date_string = "26 Jul 2024" -%}{%- endif -%}
{%- endif -%}
{%- if messages[0]['role'] == 'system' -%}
  {%- set system = messages[0]['content']|trim -%}{%- set messages = messages[1:] -%}
{%- else -%}{%- set system = "" -%}{%- endif -%}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nToday: " + date_string + "\\n\\n" }}
{{- system + "<|eot_id|>" }}
{%- for message in messages -%}
  {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' }}
  {{- message.content | trim + '<|eot_id|>' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif -%}
"""
MISTRAL = """\
{{ bos_token }}{% for message in messages %}{% if (message.role == 'user') !=\
 (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate.') }}{% endif %}\
{% if message.role == 'user' %}\
{{ '[INST] ' + message.content + ' [/INST]' }}{% else %}{{ message.content + eos_token }}\
{% endif %}{% endfor %}"""
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}

TALK = [
    {"role": "system", "content": " Be brief.\n"},
    {"role": "user", "content": "Grüße,\n world "},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": ""},
]


def rendered(template: str, messages: list[dict[str, str]]) -> str:
    """The result of Jinja2."""
    from jinja2 import Environment

    environment = Environment(trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        messages=messages, add_generation_prompt=True, **TOKENS
    )


@pytest.mark.parametrize("template", [CHATML, LLAMA3], ids=["chatml", "llama3"])
def test_pieces_give_what_the_template_does(template: str) -> None:
    pieces = chat_pieces(template, TOKENS)
    for messages in (TALK, TALK[1:], TALK[:2], TALK[1:2]):
        assert expand(pieces, messages, True) == rendered(template, messages)


def test_a_system_message_stands_in_place_of_the_default() -> None:
    pieces = chat_pieces(CHATML, TOKENS)
    assert pieces["beginning"] == "<|im_start|>system\nYou are helpful.<|im_end|>\n"
    assert pieces["system"] == {"before": "<|im_start|>system\n", "after": "<|im_end|>\n"}
    assert pieces["user"] == {"before": "<|im_start|>user\n", "after": "<|im_end|>\n"}
    assert pieces["assistant"] == {"before": "<|im_start|>assistant\n", "after": "<|im_end|>\n"}
    assert pieces["generate"] == "<|im_start|>assistant\n"
    assert (pieces["trim"], chat_pieces(LLAMA3, TOKENS)["trim"]) == (False, True)


def test_templates_without_system_messages() -> None:
    pieces = chat_pieces(MISTRAL, TOKENS)
    assert pieces["system"] is None
    assert (pieces["beginning"], pieces["generate"]) == ("<s>", "")
    assert expand(pieces, TALK[1:], True) == rendered(MISTRAL, TALK[1:])


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ messages[-1].content }}", "it omits a message"),
        ("{% for m in messages %}{{ m.content|upper }}{% endfor %}", "it omits a message"),
        ("{% for m in messages %}{{ m.content }}{{ loop.index }};{% endfor %}", "the text between"),
        ("{% for m in messages %}{{ m.content|replace(' ', '') }}{% endfor %}", "its output is"),
        ("{% for m in messages %}", "it is not a valid template"),
        ("{{ messages[0].content.__class__.__mro__ }}", "it refuses the conversation"),
        ("{{ raise_exception('never') }}", r"it refuses the conversation \(never\)"),
        (
            "{{ raise_exception('x' * 10**8) }}",
            r"refuses.*\(x{900,1024}… \[1000000\d\d characters\]",
        ),
        ("{{ 1 // 0 }}", "it fails"),
        ("x" * (1 << 21), "more than 1048576 characters"),
        ("{{ 'x' * 10**10 }}", "requires more than .* 1024 MiB"),
        ("{{ 'x'.center(10**10) }}", "requires more than .* 1024 MiB"),
        ("{{ '%1000000000d' % 1 }}", "requires more than .* 1024 MiB"),
    ],
)
def test_other_templates_are_refused(template: str, message: str) -> None:
    with pytest.raises(ImportFailure, match=message):
        chat_pieces(template, TOKENS)


def test_without_jinja2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jinja2.py").write_text("raise ModuleNotFoundError('none', name='jinja2')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ImportFailure) as caught:
        chat_pieces(CHATML, TOKENS)
    assert str(caught.value) == (
        "rendering it requires the Python module 'jinja2'. Install it (pip install jinja2), and "
        "import the model again"
    )


@pytest.mark.parametrize("extra", ["llm", "serve"])
def test_extras_of_language_models_render_templates(extra: str) -> None:
    """A model that is imported without Jinja has no chat."""
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    assert "jinja2" in extras[extra]
