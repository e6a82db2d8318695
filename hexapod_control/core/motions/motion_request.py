"""The format of the topic `motion`: the name of a motion, or the content of a motion file as JSON.

JSON: `{"file": "my_motion.yaml", "text": "name: my_motion ..."}`. The file name is only used in messages. The sender
reads the file, as `hexapod play` does, so that nodes never open a path from a message.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from hexapod_control.core.motions.motion_steps import MotionError
from hexapod_control.core.names import quoted

MAX_TEXT_LENGTH = 64_000  # characters of a motion file
MAX_REQUEST_LENGTH = 2 * MAX_TEXT_LENGTH  # characters, with the escapes of JSON
# characters
MAX_NAME_LENGTH = 60
MAX_FILE_LENGTH = 300
FORMAT = 'send a name, or a motion file as {"file": NAME, "text": CONTENT}'


@dataclass(frozen=True, slots=True)
class MotionRequest:
    """A requested motion, by name or as the content of a file."""

    name: str = ""
    file: str = ""  # for messages
    text: str = ""  # of the file; empty: the motion with the name

    @classmethod
    def parse(cls, data: str) -> MotionRequest:
        """Parses the data of a message. Raises MotionError for an invalid one."""
        if len(data) > MAX_REQUEST_LENGTH:
            raise MotionError(f"the request has {len(data)} characters, at most {MAX_REQUEST_LENGTH} are accepted")
        if not data.startswith("{"):
            if len(data) > MAX_NAME_LENGTH or not data.isprintable():
                raise MotionError(f"{quoted(data)} is not a name of at most {MAX_NAME_LENGTH} characters: {FORMAT}")
            return cls(name=data)
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError):
            raise MotionError(f"{quoted(data)} is not JSON: {FORMAT}") from None
        if set(fields) != {"file", "text"} or not all(isinstance(value, str) for value in fields.values()):
            raise MotionError(f"{quoted(data)} does not have exactly the texts file and text: {FORMAT}")
        if not 0 < len(fields["text"]) <= MAX_TEXT_LENGTH:
            raise MotionError(f"text has {len(fields['text'])} characters, must have 1 to {MAX_TEXT_LENGTH}")
        file = "".join(filter(str.isprintable, fields["file"][-MAX_FILE_LENGTH:]))
        return cls(file=file or "motion", text=fields["text"])

    @property
    def data(self) -> str:
        """The data of the message."""
        return json.dumps({"file": self.file, "text": self.text}, ensure_ascii=False) if self.text else self.name

    @property
    def title(self) -> str:
        """Name for reports: that of the motion, or that of the file without folder and suffix."""
        last = self.file.rpartition("/")[2]
        return self.name or last.rpartition(".")[0] or last
