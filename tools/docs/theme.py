"""Completes the Furo theme as Debian 12 packages it.

Debian ships Furo's sources in part unbuilt: furo.js imports another file that is no module;
furo.css lacks the rules for readers whose system asks for dark colors, and imports normalize.css
from a path of Debian's web server. What is complete, as furo.css of Debian 13, is left as it is.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

_IMPORT = 'import Gumshoe from "./gumshoe-patched.js";\n'
_NORMALIZE = Path("/usr/share/javascript/normalize.css/normalize.css")
_DARK = re.compile(r'body\[data-theme="dark"\] \{([^}]*)\}')


def complete(app: Sphinx, exception: Exception | None) -> None:
    """Sphinx's event build-finished: changes the theme's files in the built site."""
    static = Path(app.outdir) / "_static"
    if exception is None and app.builder.format == "html":
        _bundle(static / "scripts")
        _ship_normalize(static / "styles" / "furo.css")
        _follow_the_system(static / "styles" / "furo.css")


def _bundle(scripts: Path) -> None:
    script = scripts / "furo.js"
    text = script.read_text(encoding="utf-8")
    if text.startswith(_IMPORT):
        part = (scripts / "gumshoe-patched.js").read_text(encoding="utf-8")
        script.write_text(part + text.removeprefix(_IMPORT), encoding="utf-8")


def _ship_normalize(style: Path) -> None:
    """Copies normalize.css next to furo.css. Package: node-normalize.css, on which furo depends."""
    text = style.read_text(encoding="utf-8")
    absolute = "@import url(/javascript/normalize.css/normalize.css);"
    if absolute in text:
        shutil.copyfile(_NORMALIZE, style.parent / "normalize.css")
        style.write_text(text.replace(absolute, "@import url(normalize.css);"), encoding="utf-8")


def _follow_the_system(style: Path) -> None:
    text = style.read_text(encoding="utf-8")
    dark = _DARK.search(text)
    if dark and "prefers-color-scheme" not in text:
        rule = f'body:not([data-theme="light"]) {{{dark[1]}}}'
        media = f"\n@media not print {{ @media (prefers-color-scheme: dark) {{\n{rule} }} }}\n"
        style.write_text(text + media, encoding="utf-8")
