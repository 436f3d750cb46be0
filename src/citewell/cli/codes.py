"""The exit codes of the command line, for whatever ends a process. Knows no error and no command."""

from __future__ import annotations

DONE, IN_PART, USAGE, UNREACHABLE, REJECTED = 0, 1, 2, 3, 4
INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C
