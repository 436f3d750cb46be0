"""Every claimed requirement has a test, and every cited id is a known requirement."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _listed(section: str) -> set[str]:
    return set(tomllib.loads((ROOT / "tests" / "requirements.toml").read_text("utf-8"))[section])


def _cited_in(path: Path) -> dict[str, str]:
    """Requirement id -> where it is cited, from the arguments of calls named `requirement`."""
    cited = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and _called_name(node) == "requirement":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    cited[argument.value] = f"{path.name}:{argument.lineno}"
    return cited


def _called_name(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _cited() -> dict[str, str]:
    files = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "src" / "citewell" / "testing").glob("*.py")]
    return {name: where for path in sorted(files) for name, where in _cited_in(path).items()}


def test_every_claimed_requirement_has_a_test() -> None:
    assert sorted(_listed("claimed") - set(_cited())) == []


def test_every_cited_id_is_a_known_requirement() -> None:
    known = _listed("claimed") | _listed("begun")
    assert {name: where for name, where in _cited().items() if name not in known} == {}
