"""Whose endpoint it is: the words and the kinds of error in which a fault is told; knows no fault."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.errors import CitewellError


@dataclass(frozen=True, slots=True)
class Voice:
    """How an adapter speaks of its endpoint.

    Attributes:
        what: such as `embedding endpoint`.
        closed: said when it is asked after closing, such as `the embedder is closed`.
        section: of the settings, such as `embedder`.
        speaks: what the address must be, such as `an OpenAI-compatible endpoint`.
        refused: what to check where it refuses what was sent.
        error: raised for answers that can't be used.
        unavailable: raised where there is no answer.
    """

    what: str
    closed: str
    section: str
    speaks: str
    refused: str
    error: type[CitewellError]
    unavailable: type[CitewellError]

    def told(self, way_out: str) -> str:
        """A way out with the names of the settings filled in."""
        return way_out.format(section=self.section, speaks=self.speaks, refused=self.refused)

    def failure(self, message: str, way_out: str, *, unavailable: bool) -> CitewellError:
        """The error to raise."""
        return (self.unavailable if unavailable else self.error)(message, way_out=self.told(way_out))
