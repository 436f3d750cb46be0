"""Which settings are worth trying, in stages, and how far each is from the one in force; pure.

    mode                 dense or hybrid
    weights and k        together, for a small k does much of what a heavy weight does; always in hybrid mode, so that a
                         mode that is only better with other weights is found, too
    retrieve-k           wider or narrower
    cap                  only where labels can judge it: they must name more than the document

A stage varies its own keys alone and keeps what the stages before it chose. Weights that break RRF-5 are never tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from citewell.errors import InvalidRequest
from citewell.evaluation.model import Grain
from citewell.evaluation.tune_replay import Setting
from citewell.fusion import check_weights

Weights = tuple[tuple[str, float], ...] | None

KEYS: Final[Mapping[str, str]] = {
    "mode": "retrieval.search.mode",
    "weights": "retrieval.search.weights",
    "rrf_k": "retrieval.search.rrf-k",
    "retrieve_k": "rag.retrieve-k",
    "max_chunks_per_document": "rag.max-chunks-per-document",
    "min_similarity": "rag.min-similarity",
}
"""The configuration key of each field of a Setting."""

_HEAVIER: Final = (1.25, 1.5, 1.75, 1.9)
"""How much the heavier of the dense and the lexical path may weigh; two others weigh 1 (RRF-5)."""

_RRF_K: Final = (1, 2, 5, 10, 20, 40, 60, 100)
_RETRIEVE_K: Final = (20, 50, 100, 200)
_CAPS: Final = (1, 2, 3, 5, 0)

Vary = Callable[[Setting], Iterator[Setting]]


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the search: the configuration keys that it varies, and what it tries, given what is chosen so far."""

    keys: tuple[str, ...]
    vary: Vary


def stages(grain: Grain, paths: Sequence[str], *, return_n: int, depth: int) -> tuple[Stage, ...]:
    """What is tried, in order.

    Args:
        grain: of the labels. Those that name documents can't say what a second chunk of one is worth: no cap is tried.
        paths: those that may run in hybrid mode.
        return_n: retrieve-k may not be below it (POST-5).
        depth: nor above what was recorded.
    """
    widths = [width for width in _RETRIEVE_K if return_n <= width <= depth]
    found = [_mode_stage(paths), _fusion_stage(paths), _one("retrieve_k", widths)]
    return tuple([*found, _one("max_chunks_per_document", _CAPS)] if grain != "document" else found)


def changes(setting: Setting, other: Setting) -> dict[str, tuple[object, object]]:
    """By configuration key, the value of each where they differ."""
    return {
        key: (_shown(setting, name), _shown(other, name))
        for name, key in KEYS.items()
        if _shown(setting, name) != _shown(other, name)
    }


def by_simplicity(settings: Iterable[Setting], current: Setting) -> list[Setting]:
    """The one in force first, then by how many keys change, then by how far they go; equal ones in the given order."""
    return sorted(dict.fromkeys(settings), key=lambda setting: (len(changes(current, setting)), _far(current, setting)))


def _shown(setting: Setting, name: str) -> object:
    value = getattr(setting, name)
    return dict(value) if name == "weights" and value is not None else value


def _mode_stage(paths: Sequence[str]) -> Stage:
    modes = ("dense", "hybrid") if "dense" in paths else ()
    return _one("mode", modes)


def _fusion_stage(paths: Sequence[str]) -> Stage:
    def vary(setting: Setting) -> Iterator[Setting]:
        for weights, k in product(_weights(setting, paths), dict.fromkeys([setting.rrf_k, *map(float, _RRF_K)])):
            yield replace(setting, mode="hybrid", weights=weights, rrf_k=k)

    return Stage((KEYS["weights"], KEYS["rrf_k"]), vary)


def _weights(setting: Setting, paths: Sequence[str]) -> list[tuple[tuple[str, float], ...] | None]:
    """Those in force, each query's own, all equal, and either path heavier; only what RRF-5 allows."""
    if not {"dense", "lexical"} <= set(paths):
        return [setting.weights]
    tables = [{"dense": 1.0, "dense_filtered": 1.0, "lexical": weight} for weight in (1.0, *_HEAVIER)]
    tables += [{"dense": weight, "dense_filtered": 1.0, "lexical": 1.0} for weight in _HEAVIER]
    return list(
        dict.fromkeys([setting.weights, None, *(tuple(table.items()) for table in tables if _allowed(table, paths))])
    )


def _allowed(weights: Mapping[str, float], paths: Sequence[str]) -> bool:
    try:
        check_weights(weights, paths=paths)
    except InvalidRequest:
        return False
    return True


def _one(name: str, values: Sequence[object]) -> Stage:
    """A stage of one key."""

    def vary(setting: Setting) -> Iterator[Setting]:
        for value in values:
            yield replace(setting, **{name: value})  # type: ignore[arg-type]  # the values above are of its kind

    return Stage((KEYS[name],), vary)


def _far(current: Setting, setting: Setting) -> float:
    """How far the weights and widths go, in doublings; the cap and the mode are counted by `changes` alone."""
    ratios = [
        _apart(setting.weights, current.weights),
        setting.rrf_k / current.rrf_k,
        setting.retrieve_k / current.retrieve_k,
    ]
    return sum(max(ratio, 1 / ratio) for ratio in ratios)


def _apart(weights: Weights, others: Weights) -> float:
    """The ratio of their ratios; weights of each query's own are as far from fixed ones as their double is."""
    if weights is None or others is None:
        return 1.0 if weights == others else 2.0
    return _ratio(weights) / _ratio(others)


def _ratio(weights: tuple[tuple[str, float], ...]) -> float:
    """How much heavier the lexical path is than the dense one; a silent one counts as very light."""
    table = dict(weights)
    return max(table.get("lexical", 1.0), 1e-3) / max(table.get("dense", 1.0), 1e-3)
