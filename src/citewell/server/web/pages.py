"""Templates -> HTML, with everything escaped that they are handed; the stylesheet, script and icon beside them.

It knows no question and no caller. `|safe` and its like are used by no template, and a test looks for them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from citewell.server.web.gate import HOME
from citewell.server.web.views.ranking import NAMES, NODE_HEIGHT, NODE_WIDTH
from citewell.server.web.views.text import pieces, visible
from citewell.server.web.views.values import compact, counted, milliseconds, scored

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES: Final = {"style.css": "text/css", "inspect.js": "text/javascript", "icon.svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages refer to; its address changes when it does."""

    name: str
    data: bytes
    media_type: str
    version: str


@cache
def assets() -> Mapping[str, Asset]:
    """By name."""
    folder = resources.files("citewell.server.web").joinpath("static")
    data = {name: folder.joinpath(name).read_bytes() for name in _TYPES}
    return {name: Asset(name, held, _TYPES[name], hashlib.sha256(held).hexdigest()[:12]) for name, held in data.items()}


def address(path: str = "", **query: object) -> str:
    """Of a page of the inspector; parts that are None are left out."""
    pairs = [(name, str(value)) for name, value in query.items() if value is not None]
    return address_of(path, pairs)


def address_of(path: str, pairs: list[tuple[str, str]]) -> str:
    """The same, where a name may come more than once."""
    base = f"{HOME}/{path}" if path else HOME
    return f"{base}?{urlencode(pairs, errors='surrogatepass', quote_via=quote)}" if pairs else base


def asset_address(name: str) -> str:
    """Of one of the assets."""
    return address(f"static/{name}", v=assets()[name].version)


def draw(template: str, values: Mapping[str, Any]) -> str:
    """A page.

    Raises:
        jinja2.UndefinedError: a template asks for what it wasn't handed.
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("citewell.server.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "compact": compact,
        "counted": counted,
        "json": _json,
        "milliseconds": milliseconds,
        "pieces": pieces,
        "scored": scored,
        "visible": visible,
    }
    environment.globals |= {
        "asset": asset_address,
        "box": {"width": NODE_WIDTH, "height": NODE_HEIGHT},
        "names": NAMES,
        "page": address,
    }
    return environment


def _json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
