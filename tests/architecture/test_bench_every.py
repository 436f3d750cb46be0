"""One command makes every figure: each table's JSON has a script that writes it, and a failure stops no other one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from scripts_room import ROOT, script

SCRIPT = """
import json, pathlib, sys
if {writes}:
    pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text(json.dumps(sys.argv[1:]))
sys.exit({code})
"""


@pytest.fixture
def every(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """bench/every.py: bench/ is no package."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import every  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - only found from here on

    yield every
    sys.modules.pop("every")


@pytest.fixture
def small(every: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """With three scripts instead of the long ones: `good` holds its bound, `bad` misses it, `lost` writes nothing."""
    for name, writes, code in (("good", True, 0), ("bad", True, 1), ("lost", False, 1)):
        (tmp_path / f"{name}.py").write_text(SCRIPT.format(writes=writes, code=code), encoding="utf-8")
    monkeypatch.setattr(every, "ROOT", tmp_path)
    monkeypatch.setattr(every, "BENCH", tmp_path)
    monkeypatch.setattr(every, "NAMES", ("bad", "good", "lost"))
    monkeypatch.setattr(every, "commands", lambda at: {"bad": [], "good": ["--data", at.data.name], "lost": []})
    return every


def ran(every: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["every.py", *arguments])
    code: int = every.main()
    return code


def test_each_table_is_of_a_result_that_the_one_command_writes(every: ModuleType) -> None:
    written = {name if name == "peers" else f"{name}.json" for name in every.NAMES} | {"times.json"}
    assert {source for source, _ in script("figures").TABLES.values()} == written


def test_each_script_of_the_one_command_is_there_and_knows_what_it_is_given(every: ModuleType) -> None:
    commands = every.commands(every.Places(Path("data"), Path("results"), Path("stores"), Path("peers")))
    for name, given in commands.items():
        text = every.script(name).read_text("utf-8")
        flags = [word for word in [*given, *every.output(name, Path())] if word.startswith("--")]
        assert [flag for flag in flags if f'"{flag}"' not in text] == [], name


def test_a_missed_bound_stops_no_other_script_and_what_each_took_is_noted(
    small: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    code = ran(small, monkeypatch, "--only", "good", "bad", "--data", str(tmp_path), "--results", str(results))
    assert code == 0
    assert json.loads((results / "good.json").read_text())[:2] == ["--data", tmp_path.name]
    told = json.loads((results / "times.json").read_text())["scripts"]
    assert [(each["script"], each["exit"], each["wrote"]) for each in told] == [
        ("bad.py", 1, True),
        ("good.py", 0, True),
    ]
    said = capfd.readouterr().out.splitlines()
    assert [line.split(maxsplit=3)[3:] for line in said if ".py" in line] == [["bound missed"], []]


def test_a_script_that_leaves_no_result_is_named_and_what_others_took_is_kept(
    small: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ran(small, monkeypatch, "--only", "good", "--results", str(tmp_path)) == 0
    (tmp_path / "lost.json").write_text("{}")  # of an earlier run
    monkeypatch.setattr(small.time, "time", lambda: (tmp_path / "lost.json").stat().st_mtime + 1)
    assert ran(small, monkeypatch, "--only", "lost", "--results", str(tmp_path)) == 1
    told = json.loads((tmp_path / "times.json").read_text())["scripts"]
    assert [each["script"] for each in told] == ["good.py", "lost.py"]
    assert capfd.readouterr().out.splitlines()[-1].endswith("FAILED")
