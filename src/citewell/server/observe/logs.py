"""Logs as JSON lines: whatever Citewell and its server log, each line with the request that it belongs to (API-4).

It decides how a line looks and where it goes, never what is logged.
"""

from __future__ import annotations

import logging
from typing import IO, TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from structlog.typing import Processor

_LOGGERS = ("citewell", "uvicorn", "uvicorn.error", "mcp")


def log_to(stream: IO[str], level: int = logging.INFO) -> None:
    """Write the log of this process's server to a stream, and there alone."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name in ("citewell", "uvicorn", "mcp") else []
        logger.propagate = name == "uvicorn.error"
        logger.setLevel(level)
    for name in ("mcp", "uvicorn", "uvicorn.error"):  # they tell of every start and request, which we do
        logging.getLogger(name).setLevel(max(level, logging.WARNING))


def _formatter() -> logging.Formatter:
    """Of lines with time, level, logger, event, the request's id and caller, and what else was said."""
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(ensure_ascii=True),
        ],
    )
