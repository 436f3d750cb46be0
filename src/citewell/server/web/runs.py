"""Files of evaluation runs in one folder, by name; what they hold, `views.evaluation` knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from citewell.errors import InvalidRequest, UnknownEvidence

_LARGEST: Final = 20_000_000
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Runs:
    """A folder, or None where none is configured."""

    folder: Path | None

    def names(self) -> list[str]:
        """Of its JSON files, sorted; of too many, the last ones.

        Raises:
            InvalidRequest: the folder can't be read.
        """
        if self.folder is None:
            return []
        try:
            files = sorted(path.name for path in self.folder.iterdir() if path.suffix == ".json" and path.is_file())
        except OSError as error:
            raise InvalidRequest(
                f"the folder of evaluation runs can't be read: {error.strerror}", way_out="Set server.evaluations anew."
            ) from error
        return files[-_MOST:]

    def read(self, name: str) -> object:
        """What a file holds.

        Raises:
            UnknownEvidence: the folder has no such file.
            InvalidRequest: it can't be read, is too large, or is no JSON.
        """
        if self.folder is None or name not in self.names():  # so that a name never leads out of the folder
            raise UnknownEvidence(f"there is no evaluation run {name!r}", way_out="Choose one from the list.")
        path = self.folder / name
        try:
            if path.stat().st_size > _LARGEST:
                raise InvalidRequest(f"{name!r} has more than {_LARGEST} bytes", way_out="Keep runs apart.")
            return json.loads(path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidRequest(f"{name!r} can't be read as JSON", way_out="Write it again.") from error
