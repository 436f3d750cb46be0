"""The house's own rules that no linter checks: cheap imports, honest faces, who may read the environment."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import citewell
from citewell import errors
from citewell.cli.edge import exit_code

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "citewell"
MODULES = sorted(SOURCE.rglob("*.py"))
HEAVY = (
    "numpy",
    "tantivy",
    "onnxruntime",
    "rich",
    "typer",
    "yaml",
    "httpx2",
    "markdown_it",
    "rjieba",
    "regex",
    "asyncio",
)


def _name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.requirement("API-1")
def test_importing_citewell_loads_nothing_heavy() -> None:
    program = f"import sys, citewell; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.requirement("API-1")
def test_every_public_name_can_be_had_and_an_unknown_one_cannot() -> None:
    assert [name for name in citewell.__all__ if getattr(citewell, name) is None] == []
    assert sorted(citewell.__all__) == dir(citewell)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        citewell.Nonsense  # noqa: B018 - the access is what is tested


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_every_file_says_first_what_it_does(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    assert len(docstring.split()) >= 6, f"{path} has no docstring that says what it does"


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_no_file_is_longer_than_350_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 350


def test_the_environment_is_read_by_the_settings_alone_but_for_where_tiktoken_keeps_its_cache() -> None:
    readers = [
        _name(path)
        for path in MODULES
        if "os.environ" in path.read_text("utf-8") or "getenv" in path.read_text("utf-8")
    ]
    assert readers == ["adapters/counters.py", "config/settings.py"]  # tiktoken reads its variables there itself


def test_no_rule_calls_the_builtin_hash_or_opens_a_file() -> None:
    rules = [SOURCE / f"{name}.py" for name in ("checks", "identity", "scope", "fusion", "scores", "postprocess")]
    rules += [
        path
        for room in ("admission", "analysis", "guard", "projection")
        for path in sorted((SOURCE / room).glob("*.py"))
    ]
    calls = [
        f"{_name(path)}:{node.lineno}"
        for path in rules
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hash", "open")
    ]
    assert calls == []


def _all_errors(kind: type[errors.CitewellError]) -> list[type[errors.CitewellError]]:
    return [kind, *(found for inner in kind.__subclasses__() for found in _all_errors(inner))]


def test_error_codes_are_distinct_drawn_in_the_docstring_and_have_an_exit_code() -> None:
    for path in MODULES:
        if not {"adapters", "integrations"} & set(path.parts) and path.name != "__main__.py":
            importlib.import_module(
                "citewell." + _name(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            )
    kinds = [kind for kind in _all_errors(errors.CitewellError) if kind.__module__ == "citewell.errors"]
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert errors.__doc__ is not None
    assert [kind.__name__ for kind in kinds if kind.__name__ not in errors.__doc__] == []
    assert {exit_code(kind("something")) for kind in kinds} <= {1, 2, 3}


@pytest.mark.requirement("ID-9")
def test_no_module_but_identity_writes_or_splits_an_evidence_key() -> None:
    marks = [_name(path) for path in MODULES if "#chunk-" in _code(path)]
    assert marks == ["identity.py"]


def _code(path: Path) -> str:
    """The file's string constants that are no docstrings; a docstring may show a key."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in docs and isinstance(node.value, str)
    ]
    return "\n".join(text for text in texts if "such as" not in text and "look like" not in text)
