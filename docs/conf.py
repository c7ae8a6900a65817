"""Sphinx configuration of the documentation site; `./dev docs` builds it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "frontend")]

project = "Spirloom"
author = "Spirloom"
project_copyright = "Spirloom"
_version = re.search(
    r"project\(spirloom VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
)
release = version = _version[1] if _version else ""

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.graphviz",
    "sphinx_copybutton",
    "sphinxarg.ext",
    "breathe",
    "tools.docs.extension",
]

default_role = "code"
smartquotes = False  # -- begins an option
nitpicky = True
nitpick_ignore_regex = [
    # Parts of signatures: types of the standard libraries, of Vulkan, NumPy and torch.
    (r"(c|cpp):identifier", r".*"),
    (r"py:(class|obj|data)", r".*"),
]
suppress_warnings = ["myst.header"]  # generated sections may skip a level

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_mock_imports = [
    "executorch", "flatbuffers", "spirloom_schema", "starlette", "tokenizers", "torch",
    "uvicorn", "spirloom.executorch.native",
]  # fmt: skip

breathe_projects = {name: str(ROOT / "build/docs/doxygen" / name / "xml") for name in ("c", "cpp")}
breathe_default_project = "cpp"
breathe_domain_by_file_pattern = {
    "*/spirloom/c/*.h": "c", "*/spirloom_vulkan.h": "c", "*/executorch.h": "c",
}  # fmt: skip
breathe_show_include = False

graphviz_output_format = "svg"
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "Spirloom"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_search_scorer = str(ROOT / "docs/search_scorer.js")
html_show_sphinx = False
html_copy_source = False
html_sidebars = {
    "**": [
        "sidebar/brand.html", "sidebar/search.html", "repository.html",
        "sidebar/scroll-start.html", "sidebar/navigation.html", "sidebar/scroll-end.html",
    ]
}  # fmt: skip
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7fb4ec", "color-brand-content": "#7fb4ec"},
}

# The parsers of `spirloom` and `codegen` print widths of the terminal.
os.environ["COLUMNS"] = "84"
