"""`podium fleet` asks servers for their health and load, and calls no model."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.testing import dialect
from podium.engine.testing.server import Answer, in_thread

METRICS = b"""vllm:num_requests_running{engine="0"} 7.0
vllm:num_requests_waiting{engine="0"} 2.0
vllm:kv_cache_usage_perc{engine="0"} 0.75
vllm:prefix_cache_queries_total{engine="0"} 1000.0
vllm:prefix_cache_hits_total{engine="0"} 840.0
"""
NOWHERE = "http://127.0.0.1:9/v1"


def podium(*words: str) -> Result:
    return CliRunner().invoke(main, ["fleet", *words], obj=Doors(environ={}))


def program(folder: Path, *urls: str) -> str:
    places = ", ".join(f'openai("", base_url = "{url}")' for url in urls)
    path = folder / "main.team"
    path.write_text(
        f"""edition 2026
model m {{ endpoint = [{places}], price = none, limits = {{ inflight = 12 }} }}
task two {{ statement = "What is 1 + 1?" }}
run main {{ task = two, flow = agent, budget = [50k tokens] }}
"""
    )
    return str(path)


def test_every_replica_is_shown_with_what_it_tells(tmp_path: Path) -> None:
    with in_thread(dialect("vllm")) as one, in_thread(dialect("ollama")) as two:
        one.routes["/metrics"] = Answer(body=METRICS, content_type="text/plain")
        file = program(tmp_path, one.url, two.url, NOWHERE)
        shown, told = podium(file), podium(file, "--json")
        assert not one.calls
    assert (shown.exit_code, told.exit_code) == (Exit.FAILED, Exit.FAILED)
    first, second, third = shown.stdout.splitlines()[1:]
    assert first.split()[2:] == ["vllm", "up", "12", "7", "2", "75%", "84%"]
    assert second.split()[2:] == ["ollama", "up", "12"]
    assert f"{NOWHERE} " in third
    assert "cannot be reached" in third
    rows = json.loads(told.stdout)["replicas"]
    assert [row["health"] == "up" for row in rows] == [True, True, False]
    assert (rows[0]["running"], rows[0]["kv"], rows[0]["hit_rate"]) == (7.0, 0.75, 0.84)
    assert (rows[1]["running"], rows[1]["hit_rate"], rows[2]["slots"]) == (None, None, 0)


def test_a_server_that_is_not_ready_is_said_to_be_so(tmp_path: Path) -> None:
    with in_thread(dialect("vllm")) as fake:
        fake.routes["/health"] = Answer(status=503)
        shown = podium(program(tmp_path, fake.url))
    assert (shown.exit_code, "not ready" in shown.stdout) == (Exit.FAILED, True)


def test_a_server_needs_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with in_thread(dialect("sglang")) as fake:
        shown = podium("--model", fake.url)
    assert shown.exit_code == Exit.PASSED
    assert shown.stdout.splitlines()[1].split()[2:4] == ["sglang", "up"]


def test_the_embedded_model_is_not_started_to_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = program(tmp_path)
    Path(file).write_text(Path(file).read_text().replace("[]", "local()"))
    shown = podium(file)
    assert (shown.exit_code, "embedded" in shown.stdout) == (Exit.PASSED, True)


def test_a_host_that_is_not_allowed_is_not_asked(tmp_path: Path) -> None:
    shown = podium(program(tmp_path, "http://10.0.0.7/v1"))
    assert (shown.exit_code, "--allow" in shown.output) == (Exit.USAGE, True)
