"""How Sphinx makes the manual of the pages of this repository; `make manual` calls it.

The source directory is the top folder, so that pages stay where a reader of the repository finds
them, and every link in them leads to the same file here and there. A comment `<!-- generated: NAME
-->` in a page is replaced by what `chasqui.manual` makes of declarations.
"""

from __future__ import annotations

import re
from typing import Any

import chasqui
from chasqui import manual

project = "Chasqui"
version = release = chasqui.__version__
project_copyright = "Apache License 2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/manual/index"
include_patterns = [
    "docs/*.md",
    "docs/**/*.md",
    "machines/**/README.md",
    "templates/*/README.md",
    "crates/*/README.md",
    "guest/*/README.md",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [".*", "build", "target", "python", "**/node_modules"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # those of the repository's host, as tests/test_references.py checks them
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]  # pages that begin below a heading of the first level

autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"Chasqui {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["style"]
html_css_files = ["manual.css"]
# The top of the built folder leads to the manual's first page.
html_additional_pages = {"index": "first.html"}
templates_path = ["template"]
pygments_style = "tango"
pygments_dark_style = "monokai"

GENERATED = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.MULTILINE)


def _generate(_app: Any, _name: str, source: list[str]) -> None:
    source[0] = GENERATED.sub(lambda found: manual.part(found[1]), source[0])


def setup(app: Any) -> None:
    app.connect("source-read", _generate)
