"""How every test runs: hypothesis without deadlines, for the machine may be busy; the same examples every time."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, settings

collect_ignore = ["frameworks"]  # they have an environment of their own: `make test-frameworks`

# Ten thousand tests and all that they import live as long as the run: looking through them for garbage again and again
# took a third of the time in which they are collected.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """From here on garbage is collected as ever, but for what has been there from the beginning."""
    gc.collect()
    gc.freeze()
    gc.enable()


settings.register_profile(
    "citewell",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("citewell")

# A run that was started in the background ignores Ctrl-C, and so would every program that a test starts and stops.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def running_milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """The real Milvus server of this run, or why there is none."""
    from milvus_server import NoServerError, milvus_server  # noqa: PLC0415 - few tests need it

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    try:
        with milvus_server(shared) as server:
            yield server
    except NoServerError as error:
        yield error


@pytest.fixture
def milvus_uri(running_milvus: object, record_property: Callable[[str, object], None]) -> str:
    """Where the real Milvus server answers; its version is said at the end of the run."""
    from milvus_server import Server  # noqa: PLC0415 - few tests need it

    if not isinstance(running_milvus, Server):
        pytest.skip(str(running_milvus))
    record_property(SAID, f"Milvus server {running_milvus.version} at {running_milvus.uri}")
    return running_milvus.uri


SAID = "said at the end"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what tests recorded to be said, each thing once."""
    reports = (report for listed in terminalreporter.stats.values() for report in listed)
    properties = (entry for report in reports for entry in getattr(report, "user_properties", ()))
    for line in sorted({str(value) for name, value in properties if name == SAID}):
        terminalreporter.write_line(line)
