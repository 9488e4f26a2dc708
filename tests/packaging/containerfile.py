"""Just enough of the Dockerfile language to run a file's commands without an engine."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Stage:
    """One build stage: its instructions in order, as (name, argument)."""

    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        return [argument for name, argument in self.instructions if name == instruction]

    def environment(self) -> dict[str, str]:
        pairs = [pair for line in self.all("ENV") for pair in shlex.split(line)]
        return dict(pair.split("=", 1) for pair in pairs)

    def command(self, instruction: str) -> list[str]:
        """The exec form of CMD, ENTRYPOINT or HEALTHCHECK ... CMD."""
        found = re.search(r"\[.*\]", self.all(instruction)[-1])
        assert found, f"{instruction} is not in exec form"
        return json.loads(found.group())


def stages(path: Path) -> list[Stage]:
    text = re.sub(r"\\\n", " ", path.read_text())
    found: list[Stage] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        instruction, argument = line.split(None, 1)
        if instruction == "FROM":
            found.append(Stage(argument.split(" AS ")[-1]))
        else:
            found[-1].instructions.append((instruction, argument))
    return found
