"""Settings: a file, the environment and arguments, in rising precedence, read once into one frozen object (API-7).

    keys       the table of every key: name, type, default, meaning
    parse      text or environment -> {dotted key: value}
    settings   {dotted key: value} -> Settings
    generated  a file to begin with
    tokens     the table of who may call the servers

It knows no engine and no model; what a value means is the business of the room that uses it.
"""

from citewell.config.generated import generated
from citewell.config.keys import KEYS, Key
from citewell.config.settings import EmbedderSettings, RerankerSettings, ServerSettings, Settings, StoreSettings
from citewell.config.tokens import Token, digest_of

__all__ = [
    "KEYS",
    "EmbedderSettings",
    "Key",
    "RerankerSettings",
    "ServerSettings",
    "Settings",
    "StoreSettings",
    "Token",
    "digest_of",
    "generated",
]
