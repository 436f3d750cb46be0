"""Writes generated pages, or checks them; knows not how a page is made."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path


def asked_to_check(about: str | None) -> bool:
    """Whether the command line says --check; `about` is the script's docstring."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    return bool(parser.parse_args().check)


def settle(root: Path, wanted: Mapping[str, str], *, check: bool) -> int:
    """Write what differs, and name it.

    Args:
        root: what the names of pages are relative to.
        wanted: by name, what each page should hold.
        check: write nothing; the exit code 1 then says that a page differs.
    """
    stale = [name for name, text in wanted.items() if _held(root / name) != text]
    for name in () if check else stale:
        (root / name).write_text(wanted[name], encoding="utf-8")
    print(f"{'out of date' if check else 'written'}: {', '.join(stale) or 'none'}")
    return 1 if check and stale else 0


def _held(page: Path) -> str | None:
    return page.read_text("utf-8") if page.exists() else None
