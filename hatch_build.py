"""Editable installs: link the root folders as `podium.*` under .editable/, which git ignores.

A wheel maps `engine/` to `podium/engine/` by name; an editable install needs a real folder called
`podium` on the path, because type checkers read folders and never run import hooks.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class EditableLinks(BuildHookInterface):  # type: ignore[type-arg]  # of any configuration
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            return
        root = Path(self.root)
        for source, target in self.build_config.sources.items():
            link = root / ".editable" / target.rstrip("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(root / source.rstrip("/"), target_is_directory=True)
