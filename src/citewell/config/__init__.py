"""Settings: a file, the environment and arguments, in rising precedence, read once into one frozen object (API-7).

    keys       the table of every key: name, type, default, meaning
    parse      text or environment -> {dotted key: value}
    settings   {dotted key: value} -> Settings

It knows no engine and no model; what a value means is the business of the room that uses it.
"""

from citewell.config.keys import KEYS, Key
from citewell.config.settings import EmbedderSettings, Settings, StoreSettings

__all__ = ["KEYS", "EmbedderSettings", "Key", "Settings", "StoreSettings"]
