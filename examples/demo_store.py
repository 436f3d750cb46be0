"""The demo's runbooks in memory, for the other examples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources

from citewell import Knowledge, Settings


@contextmanager
def demo() -> Iterator[Knowledge]:
    """A Knowledge of them; in hybrid mode, because that finds exact codes."""
    settings = Settings.load(overrides={"retrieval.search.mode": "hybrid"})
    with Knowledge.open("memory:", settings=settings) as kb:
        with resources.as_file(resources.files("citewell.demo").joinpath("corpus")) as corpus:
            kb.ingest(corpus)
        yield kb
