"""The manual's parts that are made of declarations, as Markdown.

`make docs` writes docs/coverage.md; the others come into the manual when it is built: `part(NAME)`
takes the place of `<!-- generated: NAME -->` in a page. Some are read from the sources in Rust, so
that only a clone can build the manual.
"""

from __future__ import annotations

import importlib

# name -> module and function
PARTS = {
    "commands": ("commands", "reference"),
    "counters": ("counters", "table"),
    "coverage": ("coverage_page", "page"),
    "differences": ("run_files", "differences"),
    "experiments": ("catalogue", "experiments"),
    "host": ("run_files", "host"),
    "machines": ("catalogue", "machines"),
    "messages": ("run_files", "messages"),
    "outcomes": ("run_files", "outcomes"),
    "parameters-of-machines": ("parameters", "of_machines"),
    "parameters-shared": ("parameters", "shared"),
    "settings": ("catalogue", "settings"),
    "summary": ("run_files", "summary"),
    "units": ("run_files", "units"),
}


def part(name: str) -> str:
    """One of PARTS."""
    module, function = PARTS[name]
    found: str = getattr(importlib.import_module(f"chasqui.manual.{module}"), function)()
    return found
