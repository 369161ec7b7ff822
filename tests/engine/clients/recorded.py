"""Recorded answers of real servers, by server and request name."""

import json
from pathlib import Path
from typing import NamedTuple


class Exchange(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


def _read() -> dict[str, dict[str, Exchange]]:
    path = Path(__file__).parents[2] / "fixtures" / "servers.json"
    servers = json.loads(path.read_text())["servers"]
    return {
        name: {e["name"]: Exchange(e["status"], e["headers"], e["body"]) for e in exchanges}
        for name, exchanges in servers.items()
    }


SERVERS = _read()
