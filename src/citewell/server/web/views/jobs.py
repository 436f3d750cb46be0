"""An ingestion's `to_dict` -> its summary as bars and its files, what went wrong first; pure."""

from __future__ import annotations

from dataclasses import dataclass

from citewell.server.web.views.plots import Bar, in_order
from citewell.server.web.views.values import Json, mapping, objects

MOST_FILES = 500
"""Files on a page; the JSON has them all."""

_WORST_FIRST = ("failed", "no_text", "skipped", "updated", "added", "deleted", "unchanged")


@dataclass(frozen=True, slots=True)
class JobView:
    """What a page draws of an ingestion.

    Attributes:
        share: of its documents whose outcome is known, from 0 to 1.
        summary: how many files ended how; without those that none did.
        files: what went wrong first, each kind in the order of the report.
        more: files that are not drawn.
    """

    name: str
    state: str
    done: int
    total: int
    share: float
    embedded: int
    seconds: float | None
    error: Json
    summary: tuple[Bar, ...]
    files: tuple[Json, ...]
    more: int

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.state not in ("waiting", "running")


def job_view(job: Json) -> JobView:
    """What a page draws of `Job.to_dict`."""
    progress, report = mapping(job.get("progress")), mapping(job.get("report"))
    files = sorted(objects(report.get("files")), key=lambda file: _place(file["status"]))
    done, total = int(progress.get("done", 0)), int(progress.get("total", 0))
    counts = {name: count for name, count in mapping(report.get("summary")).items() if count}
    return JobView(
        name=str(job.get("job")),
        state=str(job.get("state")),
        done=done,
        total=total,
        share=min(1.0, done / total) if total else 0.0,
        embedded=int(progress.get("embedded", 0)),
        seconds=report.get("seconds"),
        error=mapping(job.get("error")),
        summary=in_order(counts),
        files=tuple(files[:MOST_FILES]),
        more=max(0, len(files) - MOST_FILES),
    )


def _place(status: object) -> int:
    return _WORST_FIRST.index(status) if status in _WORST_FIRST else len(_WORST_FIRST)
