"""The corpus of the search contract: a few subjects in words that no stemmer changes, tenants, and a crowd."""

from __future__ import annotations

from citewell.testing.samples import Sample

LAMP, KELP, QUARTZ = "lamp", "kelp", "quartz"
"""One word per subject: many chunks hold the first two, the twins hold the third."""

LONELY = "zx81"
"""A code in one chunk that is otherwise about something else, so that words find it and vectors don't."""

TWINS = ("twin-1", "twin-2")
"""Two documents with the same text, of two tenants."""

_FILLER = (
    "basalt",
    "walnut",
    "copper",
    "garnet",
    "topaz",
    "jasper",
    "flint",
    "gravel",
    "lantern",
    "anchor",
    "velvet",
    "harbor",
)


def _filler(seed: int, count: int) -> str:
    return " ".join(_FILLER[(seed * 5 + step) % len(_FILLER)] for step in range(count))


_LONG = Sample(
    "long",
    tuple(f"lamp {_filler(index, 2 + index % 4)}" for index in range(8)),
    title="amber",
    category="ops",
    scope=("t1", "t4"),
    metadata={"lang": "en", "year": 2031, "weight": 1.0, "draft": False, "tags": ["one", 2], "page": "1"},
)

_SMALL = tuple(
    Sample(
        f"small-{number:02}",
        (f"{'lamp' if number % 3 else 'kelp'} {_filler(number, 1 + number % 5)}",),
        category="hr" if number % 2 else "ops",
        scope=("t1",) if number % 5 else None,
        metadata={"lang": "en" if number % 4 else "zh", "year": 2030 + number % 3},
    )
    for number in range(30)
)

_TWINS = tuple(
    Sample(doc_id, ("quartz cobalt kelp",), category="ops", scope=(tenant,), metadata={"lang": "en", "year": 2031})
    for doc_id, tenant in zip(TWINS, ("t1", "t2"), strict=True)
)

_CROWD = Sample("crowd", tuple(f"lamp {_FILLER[at % 12]}" for at in range(120)), category="crowd", scope=("t2",))

_FEW = tuple(Sample(f"few-{number}", (f"lamp {_filler(number, 9)}",), scope=("t3",)) for number in range(6))

_LONELY = Sample("lonely", (f"{_filler(3, 12)} {LONELY} {_filler(7, 12)}",), category="ops", scope=("t2",))

CORPUS: tuple[Sample, ...] = (_LONG, *_SMALL, *_TWINS, _CROWD, *_FEW, _LONELY)
