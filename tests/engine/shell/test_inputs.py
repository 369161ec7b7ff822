"""What is asked on the command line."""

from pathlib import Path

import pytest

from podium.dsl.model import Price
from podium.dsl.program import Budget
from podium.engine.request import ModelChoice
from podium.engine.shell.exits import ShellError
from podium.engine.shell.inputs import (
    allow_rules,
    caps,
    misspelt,
    model_choices,
    only_program,
    parameters,
)

ENVIRON = {"PODIUM_PARAM_a": "env", "PODIUM_PARAM_b": "env", "PODIUM_PARAM_c": "env"}


def test_set_goes_before_the_file_and_the_file_before_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text("a = 1\nb = 2\n")
    values = parameters(["a=x=y"], str(file), ["a", "b", "c"], ENVIRON)
    assert values == {
        "a": ("x=y", "--set"),
        "b": (2, str(file)),
        "c": ("env", "PODIUM_PARAM_c"),
    }


def test_variables_for_undeclared_parameters_are_ignored() -> None:
    assert parameters([], None, ["b"], ENVIRON) == {"b": ("env", "PODIUM_PARAM_b")}


@pytest.mark.parametrize("text", ["a", "=1", "a b=1", "1a=2"])
def test_a_setting_is_a_name_and_a_value(text: str) -> None:
    with pytest.raises(ShellError, match="NAME=VALUE"):
        parameters([text], None, [], {})


@pytest.mark.parametrize(("text", "word"), [("a = [1]", "list"), ("a = ", "not TOML")])
def test_a_parameter_file_holds_plain_values(tmp_path: Path, text: str, word: str) -> None:
    file = tmp_path / "p.toml"
    file.write_text(text)
    with pytest.raises(ShellError, match=word):
        parameters([], str(file), [], {})


def test_a_missing_parameter_file_is_said() -> None:
    with pytest.raises(ShellError, match=r"gone\.toml"):
        parameters([], "gone.toml", [], {})


def test_caps_are_read_in_their_units() -> None:
    assert caps("$2", "400k", "30m") == Budget(usd=2_000_000, tokens=400_000, seconds=1800.0)
    assert caps(None, None, None) == Budget()


def test_models_are_urls_with_a_name_a_served_name_and_a_price() -> None:
    models = ["http://127.0.0.1:8080/v1", "fast=https://x.test/v1#qwen"]
    assert model_choices(models, ["free", "fast:input=1,output=2"]) == (
        ModelChoice("http://127.0.0.1:8080/v1", None, "", Price()),
        ModelChoice(
            "https://x.test/v1", "fast", "qwen", Price(1_000_000, 1_000_000, 1_000_000, 2_000_000)
        ),
    )


def test_a_model_on_this_machine_is_free_and_elsewhere_its_price_is_unknown() -> None:
    urls = ["http://localhost:1/v1", "http://[::1]:1/v1", "http://127.0.0.2:1", "http://gpu1:1/v1"]
    assert [choice.price for choice in model_choices(urls, [])] == [Price()] * 3 + [None]


@pytest.mark.parametrize("text", ["fast", "ftp://x", "fast=", "http://", "http://["])
def test_what_is_no_url_is_no_model(text: str) -> None:
    with pytest.raises(ShellError, match="neither a URL"):
        model_choices([text], [])


def test_a_price_without_its_model_is_refused() -> None:
    with pytest.raises(ShellError, match="no --model fast=URL"):
        model_choices([], ["fast:free"])


def test_permissions_are_rules_and_naming_a_server_allows_its_host() -> None:
    models = model_choices(["http://gpu1:8000/v1"], [])
    assert allow_rules(["env:FAST_*", "python:checks:run"], models) == [
        "env:FAST_*",
        "python:checks:run",
        "host:gpu1",
    ]


@pytest.mark.parametrize("text", ["env", "env:", "door:x", ":x"])
def test_a_permission_of_no_kind_is_refused(text: str) -> None:
    with pytest.raises(ShellError, match="KIND"):
        allow_rules([text], [])


def test_the_only_program_of_a_folder_needs_no_name(tmp_path: Path) -> None:
    with pytest.raises(ShellError, match="podium init"):
        only_program(tmp_path)
    (tmp_path / "a.team").touch()
    assert only_program(tmp_path) == "a.team"
    (tmp_path / "b.team").touch()
    with pytest.raises(ShellError, match=r"a\.team, b\.team"):
        only_program(tmp_path)


def test_a_variable_that_is_almost_named_like_a_parameter_is_told() -> None:
    environ = {"PODIUM_PARAM_K": "1", "PODIUM_PARAM_topci": "x", "PODIUM_PARAM_other": "y"}
    assert misspelt(["k", "topic"], environ) == [
        "PODIUM_PARAM_K sets no parameter of this program; did you mean `k`?",
        "PODIUM_PARAM_topci sets no parameter of this program; did you mean `topic`?",
    ]
    assert misspelt(["k"], {"PODIUM_PARAM_k": "1", "PATH": "/"}) == []
