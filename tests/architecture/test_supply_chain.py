"""What is built on: licences are on the list, pins and hashes name the same versions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts_room import script

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True), ("GPL-3.0-or-later", False), ("AGPL-3.0-only", False), ("LGPL-2.1-or-later", False),
        ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", True), ("MIT AND GPL-2.0-only", False),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True), ("(MIT OR GPL-3.0-only) AND BSD-3-Clause", True),
        ("(MIT AND GPL-3.0-only) OR AGPL-3.0-only", False), ("Apache-2.0 WITH LLVM-exception", True),
        ("", False), ("(none)", False), ("Proprietary", False),
    ],
)  # fmt: skip
def test_a_licence_is_allowed_by_its_best_alternative_and_its_worst_part(expression: str, allowed: bool) -> None:
    assert script("licences").is_allowed(expression) is allowed


@pytest.mark.parametrize(
    ("expression", "field", "classifiers", "licence"),
    [
        ("MIT", "GPL", [], "MIT"),
        (None, "BSD\n\nCopyright", [], "BSD-3-Clause"),
        (None, "See LICENSE", ["License :: OSI Approved :: MIT License"], "MIT"),
        (None, "", ["License :: OSI Approved :: GNU General Public License v3 (GPLv3)"],
         "GNU General Public License v3 (GPLv3)"),
        (None, "MIT", ["License :: OSI Approved :: GNU General Public License v3 (GPLv3)"],
         "GNU General Public License v3 (GPLv3)"),
        (None, "", [], "(none)"),
    ],
)  # fmt: skip
def test_what_a_distribution_says_of_its_licence(
    expression: str | None, field: str, classifiers: list[str], licence: str
) -> None:
    assert script("licences").licence_of("x", expression, field, classifiers) == licence


def test_everything_installed_has_a_licence_that_is_on_the_list() -> None:
    licences = script("licences")
    assert {name: said for name, said in licences.installed().items() if not licences.is_allowed(said)} == {}


def _pins(file: str) -> dict[str, str]:
    text = (ROOT / file).read_text("utf-8")
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", text, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


def test_every_pin_has_hashes_of_the_same_version() -> None:
    """`python scripts/hashes.py` writes them anew."""
    hashed = _pins("requirements-hashed.txt")
    assert {name: version for name, version in _pins("requirements.txt").items() if hashed.get(name) != version} == {}
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements-hashed.txt").read_text("utf-8"))
    assert [entry for entry in entries if "==" in entry and "--hash=sha256:" not in entry] == []


def test_every_test_that_the_threat_model_names_is_there() -> None:
    page = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
    named = re.findall(r"`((?:tests|bench|scripts)/[^`:]+)(?:::(\w+))?`", page)
    assert len(named) > 30
    missing = [path for path, _ in named if not list(ROOT.glob(path))]
    lost = [test for path, test in named if test and f"def {test}(" not in (ROOT / path).read_text("utf-8")]
    assert missing + lost == []
