"""A name of an adapter -> the thing itself, importing its framework only then; without it, an error names the extra.

It knows no framework: each package says what its names need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module

from citewell.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Framework:
    """What the names of one package need.

    Attributes:
        module: the framework's top-level module.
        library: as it is installed.
        extra: of citewell, that brings it.
    """

    module: str
    library: str
    extra: str


def names_of(package: str, homes: Mapping[str, str], framework: Framework) -> Callable[[str], object]:
    """A `__getattr__` for a package whose names live in modules that import the framework.

    Args:
        package: its dotted name.
        homes: the module, within the package, of each name.
        framework: what those modules import.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        except ImportError as error:
            if (error.name or "").partition(".")[0] != framework.module:
                raise
            raise ConfigError(
                f"{package}.{name} needs {framework.library}, which is missing or of another version ({error})",
                way_out=f"Install citewell[{framework.extra}].",
            ) from error

    return find
