"""Where a component's Knowledge comes from: one that is open already, or a location that it opens, and can write down.

Only the second can be written to a pipeline's file, and of secrets only the names of environment variables. It knows
Haystack's secrets, and no component.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from haystack.utils import Secret

from citewell.app import Knowledge
from citewell.checks import check_mapping
from citewell.config import KEYS, Settings
from citewell.errors import ConfigError

_SECRET: Final = frozenset(key.name for key in KEYS if key.secret)


class Source:
    """A Knowledge that is open, or opens when it is first asked for. Safe to use from several threads."""

    def __init__(
        self,
        knowledge: Knowledge | None,
        location: str | None,
        config: str | None,
        settings: Mapping[str, Any] | None,
        secrets: Mapping[str, Secret] | None,
    ) -> None:
        """Nothing is opened yet; arguments as `CitewellRetriever` has them.

        Raises:
            ConfigError: both or neither of a Knowledge and a location, or a secret where it would be written down.
        """
        if (knowledge is None) == (location is None):
            raise ConfigError(
                "a component asks an open Knowledge or opens a location, and was given both or neither",
                way_out="Give `location`; or `knowledge`, if the pipeline is never written to a file.",
            )
        if knowledge is not None and (config or settings or secrets):
            raise ConfigError(
                "an open Knowledge has its settings already",
                way_out="Leave `config`, `settings` and `secrets` out, or give `location` instead of `knowledge`.",
            )
        self._given = knowledge
        self._opened: Knowledge | None = None
        self._location, self._config = location, config
        self._settings = dict(check_mapping("settings", settings or {}))
        self._secrets = dict(check_mapping("secrets", secrets or {}))
        self._turn = threading.Lock()
        self._keep_secrets_apart()

    def _keep_secrets_apart(self) -> None:
        written = [name for name in Settings.of(self._settings).origins if name in _SECRET]
        if written:
            raise ConfigError(
                f"{', '.join(written)} in `settings` would be written down with the pipeline",
                way_out=f"Give it in `secrets`: {{{written[0]!r}: Secret.from_env_var(...)}}.",
            )
        unknown = sorted(set(self._secrets) - _SECRET)
        if unknown:
            raise ConfigError(
                f"{', '.join(unknown)} is no secret", way_out=f"Secrets are {', '.join(sorted(_SECRET))}."
            )
        if self._location is not None and urlsplit(self._location).password:
            raise ConfigError(
                "the location has a password in it, which would be written down with the pipeline",
                way_out="Give it in `secrets`, as 'store.token': 'user:password'.",
            )

    def knowledge(self) -> Knowledge:
        """The Knowledge, opened now if it wasn't.

        Raises:
            ConfigError, StoreError, EmbedderError: it can't be opened. There is none made where there is none.
        """
        if self._given is not None:
            return self._given
        with self._turn:
            if self._opened is None:
                self._opened = Knowledge.open(self._location, settings=self._effective(), create=False)
            return self._opened

    def _effective(self) -> Settings:
        known = {name: secret.resolve_value() for name, secret in self._secrets.items()}
        told = {name: value for name, value in known.items() if value is not None}
        return Settings.load(self._config, overrides={**self._settings, **told})

    def close(self) -> None:
        """Close what was opened here; what was given stays open, for whoever opened it. Idempotent."""
        with self._turn:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def to_dict(self) -> dict[str, Any]:
        """The arguments, as JSON; secrets by the environment variables that hold them.

        Raises:
            ConfigError: it is an open Knowledge, which no file can hold.
            ValueError: a secret is a token itself (Haystack refuses to write it).
        """
        if self._given is not None:
            raise ConfigError(
                "the component was given an open Knowledge, which can't be written to a file",
                way_out="Make the component with `location`, and perhaps `config`, instead of `knowledge`.",
            )
        return {
            "location": self._location,
            "config": self._config,
            "settings": dict(self._settings),
            "secrets": {name: secret.to_dict() for name, secret in self._secrets.items()},
        }


def secrets_of(written: Mapping[str, Any] | None) -> dict[str, Secret]:
    """Secrets as `Source.to_dict` wrote them; those that are read already stay."""
    given = check_mapping("secrets", written or {})
    return {name: each if isinstance(each, Secret) else Secret.from_dict(dict(each)) for name, each in given.items()}
