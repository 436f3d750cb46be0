"""A virtual environment for each stack, under a cache folder, from the pinned lists in requirements/.

It knows the interpreter and pip, no library. Citewell runs in the environment that runs this.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
OWN = ("citewell", "citewell-own")
STACKS = ("textbook", "txtai", "lancedb", "langchain", "langchain-milvus", "llamaindex", "haystack")
"""Those with an environment of their own."""
_VARIANTS = {"lancedb-hnsw": "lancedb", "txtai-content": "txtai"}


def home(stack: str) -> str:
    """The stack whose environment this one shares."""
    return _VARIANTS.get(stack, stack)


def requirements(stack: str) -> Path:
    """The pinned list of a stack."""
    return HERE / "requirements" / f"{home(stack)}.txt"


def interpreter(stack: str, cache: Path) -> Path:
    """Of the stack's environment, which is made if it isn't there or its list has changed."""
    if stack in OWN:
        return Path(sys.executable)
    folder = cache / "venvs" / home(stack)
    python, stamp = folder / "bin" / "python", folder / ".installed"
    wanted = hashlib.sha256(requirements(stack).read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text("ascii") != wanted:
        print(f"installing {home(stack)} into {folder}", flush=True)
        if not python.exists():
            venv.create(folder, with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*map(str, pip), "-r", str(requirements(stack))], check=True)
        stamp.write_text(wanted, encoding="ascii")
    return python


def version(stack: str) -> str:
    """Changes when the stack's packages or its script change; the first 12 digits of SHA-256."""
    total = hashlib.sha256(requirements(stack).read_bytes())
    own = {f"stack_{name.replace('-', '_')}.py" for name in (stack, home(stack))}
    for name in ("peers_worker.py", "peers_stack.py", *sorted(own)):
        total.update((HERE / name).read_bytes())
    return total.hexdigest()[:12]
