"""What was asked on the command line, as a `Request` and an allow-list. Pure but for the files it reads."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from podium.dsl.model import Price
from podium.dsl.names import did_you_mean
from podium.dsl.program import Budget
from podium.dsl.source import Source
from podium.dsl.verifiers import host_of, is_loopback

from ..library import ALLOWED_KINDS
from ..request import ModelChoice, Parameters, Request
from . import units
from .exits import ShellError
from .texts import read_text

Given = tuple[str | int | float | bool, str]
# What calls nothing, reads no variable and runs no code of the program's needs no leave.
ANYTHING = tuple(f"{kind}:*" for kind in ALLOWED_KINDS)
_ENVIRON = "PODIUM_PARAM_"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of `run`, as typed. versus: a model from which one agent of its team is asked in its place."""

    run: str | None = None
    expression: str | None = None
    task: str | None = None
    settings: Sequence[str] = ()
    params_file: str | None = None
    max_usd: str | None = None
    max_tokens: str | None = None
    max_calls: int | None = None
    max_time: str | None = None
    by: str | None = None
    seed: int | None = None
    versus: str | None = None
    models: Sequence[str] = ()
    prices: Sequence[str] = ()
    allow: Sequence[str] = field(default_factory=tuple[str, ...])


def asked_of(given: Mapping[str, Any]) -> tuple[Asked, dict[str, Any]]:
    """What click was given for the fields of Asked, and the rest of it."""
    names = {one.name for one in fields(Asked)}
    asked = Asked(**{name: value for name, value in given.items() if name in names})
    return asked, {name: value for name, value in given.items() if name not in names}


def request_of(
    source: Source, asked: Asked, declared: Iterable[str], environ: Mapping[str, str]
) -> Request:
    """declared: the names of the file's parameters; only these are looked for in environ.

    Raises ShellError on an option that cannot be read.
    """
    return Request(
        source=source,
        run=asked.run,
        params=parameters(asked.settings, asked.params_file, declared, environ),
        expression=asked.expression,
        task=asked.task,
        models=model_choices(asked.models, asked.prices),
        budget=replace(
            caps(asked.max_usd, asked.max_tokens, asked.max_time), calls=asked.max_calls
        ),
        seed=asked.seed,
        by=None if asked.by is None else units.clock(asked.by),
        size=None if asked.versus is None else 1,
        versus=asked.versus,
    )


def parameters(
    settings: Sequence[str],
    params_file: str | None,
    declared: Iterable[str],
    environ: Mapping[str, str],
) -> Parameters:
    """--set before the --params file before PODIUM_PARAM_…, each with its origin."""
    values: dict[str, Given] = {
        name: (environ[_ENVIRON + name], _ENVIRON + name)
        for name in declared
        if _ENVIRON + name in environ
    }
    if params_file is not None:
        values |= _from_toml(read_text(params_file, "the parameters"), params_file)
    return values | dict(_setting(text) for text in settings)


def misspelt(declared: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """A sentence for each variable that sets no parameter declared, but is named almost like one.

    Other variables that begin so may be meant for other programs.
    """
    known = list(declared)
    given = [name.removeprefix(_ENVIRON) for name in environ if name.startswith(_ENVIRON)]
    return [
        f"{_ENVIRON}{name} sets no parameter of this program; {meant}"
        for name in sorted(given)
        if name not in known and (meant := did_you_mean(name, known))
    ]


def _from_toml(text: str, path: str) -> dict[str, Given]:
    try:
        table: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ShellError(f"{path} is not TOML: {error}") from error
    values: dict[str, Given] = {}
    for name, value in table.items():
        if not isinstance(value, str | int | float | bool):
            kind = type(value).__name__
            listed = f"; --set {name}='[1, 2]' gives a list" if kind == "list" else ""
            raise ShellError(
                f"{path}: {name} is a {kind}; a parameter is text, a number or "
                f"true or false{listed}"
            )
        values[name] = value, path
    return values


def _setting(text: str) -> tuple[str, Given]:
    name, equals, value = text.partition("=")
    if not equals or not _NAME.fullmatch(name.strip()):
        raise ShellError(f'--set "{text}" is not NAME=VALUE')
    return name.strip(), (value.strip(), "--set")


def caps(max_usd: str | None, max_tokens: str | None, max_time: str | None) -> Budget:
    """Bounds from outside; they only ever tighten the program's own."""
    return Budget(
        usd=None if max_usd is None else units.usd(max_usd),
        tokens=None if max_tokens is None else units.count(max_tokens),
        seconds=None if max_time is None else units.seconds(max_time),
    )


def model_choices(models: Sequence[str], prices: Sequence[str]) -> tuple[ModelChoice, ...]:
    """--model and --price put together. A URL's `#name` picks one of a server's models."""
    priced = dict(_split_price(text) for text in prices)
    choices: list[ModelChoice] = []
    for text in models:
        name, url = _split_name(text)
        address, _, served = url.partition("#")
        if host_of(address) is None:
            raise ShellError(
                f'--model "{text}" is neither a URL nor NAME=URL: write '
                "http://127.0.0.1:8080/v1, or NAME=http://... for the model NAME of the file"
            )
        rates = priced.pop(name, None)
        price = units.price(rates) if rates is not None else _usual_price(address)
        choices.append(ModelChoice(address, name, served, price))
    if priced:
        name = next(iter(priced))
        raise ShellError(
            "--price goes with --model: there is no --model "
            + ("URL" if name is None else f"{name}=URL")
        )
    return tuple(choices)


def _usual_price(url: str) -> Price | None:
    """Free on this machine, unknown elsewhere."""
    return Price() if is_loopback(host_of(url) or "") else None


def _split_name(text: str) -> tuple[str | None, str]:
    name, equals, rest = text.partition("=")
    return (name, rest) if equals and _NAME.fullmatch(name) else (None, text)


def _split_price(text: str) -> tuple[str | None, str]:
    """`NAME:input=…` belongs to the model NAME; without a name, to the default model."""
    name, colon, rest = text.partition(":")
    return (name, rest) if colon and _NAME.fullmatch(name) else (None, text)


def allow_rules(texts: Iterable[str], models: Iterable[ModelChoice]) -> list[str]:
    """--allow KIND:PATTERN as the engine reads it; who names a server has allowed its host.

    Raises ShellError.
    """
    rules = list(texts)
    for text in rules:
        kind, _, pattern = text.partition(":")
        if not pattern or kind not in ALLOWED_KINDS:
            kinds = ", ".join(ALLOWED_KINDS)
            raise ShellError(f'--allow "{text}" is not KIND:PATTERN; KIND is one of {kinds}')
    hosts = [host_of(choice.url) for choice in models]
    return [*rules, *(f"host:{host}" for host in hosts if host)]


def only_program(folder: Path) -> str:
    """The one .team file of folder. Raises ShellError where there is none, or a choice."""
    found = sorted(path.name for path in folder.glob("*.team"))
    match found:
        case [name]:
            return name
        case []:
            raise ShellError("no program named, and no .team file here: `podium init` makes one")
        case _:
            raise ShellError(f"no program named, and there are several here: {', '.join(found)}")
