"""The command `calibrate`: a similarity floor for the embedder in use, from text that nobody has labelled.

What follows from the figures is decided in `citewell.evaluation`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.bounded import read_file
from citewell.cli.edge import edge, emit
from citewell.cli.fragment import check_out, write_out
from citewell.cli.options import ConfigOption, JsonOption, KbOption, open_knowledge
from citewell.cli.tuning import SEED
from citewell.errors import InvalidRequest, UnknownEvidence
from citewell.identity import format_key

if TYPE_CHECKING:
    import numpy as np

    from citewell.app import Knowledge
    from citewell.evaluation.calibrate import Asked

_LARGEST = 16_000_000
"""Bytes of a file of questions."""

_TRIES = 5
"""So many times the wanted questions, chunks are drawn: some have no sentence, or come twice."""


@edge
def calibrate(
    *,
    questions: Annotated[
        Path | None,
        typer.Option(
            help="A text file of questions that the store can't answer, one a line, instead of Citewell's own."
        ),
    ] = None,
    reject: Annotated[
        float, typer.Option(help="The share of unrelated questions to reject.", min=0.01, max=0.999)
    ] = 0.95,
    keep: Annotated[
        float, typer.Option(help="The share of the store's own questions that has to stay.", min=0.0, max=1.0)
    ] = 0.8,
    sample: Annotated[int, typer.Option(help="Questions made of the store's own sentences.", min=30)] = 200,
    seed: Annotated[int, typer.Option(help="Of the sentences drawn and the bootstrap.", min=0)] = SEED,
    out: Annotated[Path | None, typer.Option(help="Write what is proposed to this TOML file.")] = None,
    kb: KbOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose a similarity floor from what unrelated questions score in this store; no labels are needed."""
    from citewell.cli import tuning_text
    from citewell.evaluation.calibrate import calibrate as calibrated

    check_out(out)
    unrelated = _unrelated(questions)
    with open_knowledge(kb, config) as knowledge:
        embedder = knowledge.embedder.name
        texts = _own_questions(knowledge, sample, seed)
        off = _asked(knowledge, unrelated)
        known = [each.similarity for each in _asked(knowledge, {"": texts})]
    found = calibrated(off, known, reject=reject, keep=keep, seed=seed)
    text = tuning_text.floor_proposal(found, embedder)
    if out is not None:
        write_out(out, text)
    if as_json:
        emit({"embedder": embedder, **found.to_dict(), "fragment": text})
    else:
        tuning_text.show_calibration(found, embedder, text, out)


def _unrelated(path: Path | None) -> Mapping[str, Sequence[str]]:
    """Questions by language; those of a file have none."""
    from citewell.evaluation.calibrate_questions import everyday

    if path is None:
        return everyday()
    try:
        lines = read_file(path, _LARGEST).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} can't be read: {error}", way_out="Name a text file in UTF-8.") from error
    return {"": list(dict.fromkeys(line.strip() for line in lines if line.strip()))}


def _asked(knowledge: Knowledge, questions: Mapping[str, Sequence[str]]) -> list[Asked]:
    """The best similarity of each question; one that is refused, or finds nothing at all, is left out."""
    from citewell.evaluation.calibrate import Asked

    found = []
    for language, texts in questions.items():
        for text in texts:
            with contextlib.suppress(InvalidRequest):
                result = knowledge.lookup(text, mode="dense", retrieve_k=1, return_n=1, min_similarity="off")
                best = [block.similarity for block in result.evidence if block.similarity is not None]
                found += [Asked(text, value, language) for value in best]
    return found


def _own_questions(knowledge: Knowledge, most: int, seed: int) -> list[str]:
    """Questions made of sentences of chunks that are drawn by the seed, each once."""
    import numpy as np

    from citewell.evaluation.calibrate_questions import question_of

    draw = np.random.Generator(np.random.PCG64(seed))
    found: dict[str, None] = {}
    for key in _drawn(knowledge, _TRIES * most, draw):
        with contextlib.suppress(UnknownEvidence):
            question = question_of(knowledge.show(key).text, draw)
            found |= {} if question is None else {question: None}
        if len(found) == most:
            break
    return list(found)


def _drawn(knowledge: Knowledge, most: int, draw: np.random.Generator) -> Iterator[str]:
    """Evidence keys of the store, each chunk as likely as the next; at most so many, none twice."""
    import numpy as np

    documents = [info for info in knowledge.documents() if info.chunks]
    ends = np.cumsum([info.chunks for info in documents], dtype=np.int64)
    if not documents:
        raise InvalidRequest("the store is empty", way_out="Ingest documents first: `citewell ingest PATH`.")
    total = int(ends[-1])
    places = draw.permutation(total)[:most] if total <= 10 * most else np.unique(draw.integers(0, total, most))
    for place in draw.permutation(places).tolist():
        number = int(np.searchsorted(ends, place, side="right"))
        yield format_key(documents[number].doc_id, place - int(ends[number] - documents[number].chunks))
