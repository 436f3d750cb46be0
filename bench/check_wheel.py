"""Builds the wheel and starts it in an environment of its own that holds nothing but what the wheel asks for.

    python bench/check_wheel.py

Built twice, it must be the same to the byte. The pinned versions of requirements.txt constrain that environment. It
proves that the package starts without the tools of its tests: the import is cheap, the command line answers, and a
lookup on a small store works when the default model is in the user's cache. Of the extras nothing is there, and what
needs one says which.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SMOKE = """
import sys
import citewell
heavy = [name for name in ("numpy", "tantivy", "onnxruntime", "rich", "typer", "yaml", "httpx2") if name in sys.modules]
assert not heavy, f"import citewell loads {heavy}"
assert "pytest" not in sys.modules
from importlib import resources
pages = resources.files("citewell.server.web")
assert all(pages.joinpath(*part).is_file() for part in (("templates", "base.html"), ("static", "style.css")))
from citewell import Document, Knowledge, Settings
from citewell.testing.fakes import HashEmbedder
with Knowledge.open(sys.argv[1], settings=Settings(), embedder=HashEmbedder()) as knowledge:
    knowledge.ingest_documents([Document("a.md", "# Alpha\\n\\nRotate the signing key.")])
    result = knowledge.lookup("signing key", mode="hybrid")
    assert [block.evidence_key for block in result.evidence] == ["a.md#chunk-0"], result
    print(result.to_agent()["evidence"][0]["document_id"])
"""

WITHOUT_EXTRAS = """
import importlib, importlib.metadata, sys
from citewell.errors import ConfigError
from citewell.tool import tool_schema
assert tool_schema("anthropic")["name"] == "lookup_knowledge"
extras = importlib.metadata.metadata("citewell").get_all("Provides-Extra")
for package, extra in (("langchain", "langchain"), ("llamaindex", "llama-index"), ("haystack", "haystack")):
    adapter = importlib.import_module(f"citewell.integrations.{package}")
    assert extra in extras, f"{extra} is no extra; there are {extras}"
    try:
        adapter.CitewellRetriever
    except ConfigError as error:
        assert f"citewell[{extra}]" in str(error), error
    else:
        raise AssertionError(f"the base install holds what {package} needs")
names = ("langchain_core", "llama_index", "haystack", "mcp", "fastapi", "pymilvus")
heavy = [name for name in names if name in sys.modules]
assert not heavy, heavy
"""


def run(*command: str | Path) -> None:
    """Run a command; its failure ends the check."""
    subprocess.run([str(part) for part in command], check=True)


def built(folder: Path) -> Path:
    """The wheel, made anew; its times are those of SOURCE_DATE_EPOCH, else a date that hatchling has fixed."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("*.whl"))


def main() -> int:
    """Build, install, start."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        wheel, again = built(work / "dist"), built(work / "again")
        if wheel.read_bytes() != again.read_bytes():
            print("two builds of the same tree differ", file=sys.stderr)
            return 1
        venv.create(work / "env", with_pip=True)
        python = work / "env" / "bin" / "python"
        run(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-c",
            ROOT / "requirements.txt",
            wheel,
        )
        run(python, "-I", "-c", SMOKE, work / "kb")
        run(python, "-I", "-c", WITHOUT_EXTRAS)
        run(work / "env" / "bin" / "citewell", "--help")
        run(work / "env" / "bin" / "citewell", "demo", "--keep", work / "demo")
    print("the wheel starts and answers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
