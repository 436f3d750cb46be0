"""The configuration to begin with: it can be read as it is and with every default uncommented; it names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citewell.config import KEYS, Settings, digest_of, generated
from citewell.errors import ConfigError

FRESH = ["everything-0123456789", "scoped-0123456789abc"]


def _load(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "citewell.toml"
    path.write_text(text, encoding="utf-8")
    return Settings.load(path, environment={})


@pytest.mark.requirement("PORT-3", "API-7")
def test_it_sets_hybrid_says_why_and_leaves_all_else_at_its_default(tmp_path: Path) -> None:
    text = generated(FRESH)
    settings = _load(tmp_path, text)
    assert settings.search.mode == "hybrid"
    assert set(settings.origins) == {"retrieval.search.mode"}
    assert settings.server.tokens == ()
    assert "exact codes" in text
    assert "The library's own default is dense, so that those who upgrade get what they had." in text


@pytest.mark.requirement("PORT-3", "API-7")
def test_every_default_in_it_is_the_one_in_force(tmp_path: Path) -> None:
    text = re.sub(r"^# (?=[\w-]+ = )", "", generated(FRESH).partition("# Who may call")[0], flags=re.MULTILINE)
    settings, plain = _load(tmp_path, text), Settings.of({"retrieval.search.mode": "hybrid"})
    assert [(name, value) for name, value, _ in settings.describe()] == [
        (name, value) for name, value, _ in plain.describe()
    ]
    unset = {key.name for key in KEYS if key.default is None}
    assert set(settings.origins) == {key.name for key in KEYS} - unset - {"server.tokens"}
    assert all(f"# {key.meaning}" in text for key in KEYS if key.name not in ("retrieval.search.mode", "server.tokens"))


@pytest.mark.requirement("PORT-3", "SAFE-3")
def test_its_tokens_are_those_that_were_made_for_it_and_work_once_uncommented(tmp_path: Path) -> None:
    before, mark, callers = generated(FRESH).partition("# [[server.tokens]]")
    settings = _load(tmp_path, before + (mark + callers).replace("# ", ""))
    assert [(token.name, token.digest, token.scope, token.ingest) for token in settings.server.tokens] == [
        ("ops", digest_of(FRESH[0]), None, True),
        ("team-a-bot", digest_of(FRESH[1]), ("team-a",), False),
    ]


@pytest.mark.requirement("SAFE-3")
@pytest.mark.parametrize("token", ["xxxxxxxxxxxxxxxxxxxx", "changemechangeme", "<put your token here>"])
def test_a_placeholder_is_no_token(token: str) -> None:
    with pytest.raises(ConfigError, match=r"server\.tokens\[0\]\.token looks like a placeholder") as caught:
        Settings.of({"server.tokens": [{"name": "ops", "token": token}]})
    assert token not in str(caught.value)
    assert "token_urlsafe" in caught.value.way_out
