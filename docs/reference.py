"""Writes docs/reference.md: every command, Helm value and field of GatewayParameters."""

import json
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer.main
import yaml
from typer.core import TyperArgument, TyperGroup, TyperOption

from legation.cli.main import app

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reference.md"
CHART = ROOT / "deploy/helm/legation"
CRD = CHART / "crds/legation.dev_gatewayparameters.yaml"
PREFACE = """# Reference

Made by `make docs` from the commands, the chart and the definition of GatewayParameters, not by hand. What
begins with `legation.dev/` is listed with the [names](names.md).
"""
TOLD_BEFORE = "ports[].clients"  # has the same fields as clients
Schema = dict[str, Any]  # what JSON Schema may say


def page() -> str:
    """Return the whole page."""
    return "\n".join((PREFACE, *_commands(), *_values(), *_parameters()))


def _commands() -> Iterator[str]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    yield "## Commands\n"
    yield "Every flag of `legation run` can be given by an environment variable instead.\n"
    for name, command in group.commands.items():
        arguments = [each for each in command.params if isinstance(each, TyperArgument)]
        options = [each for each in command.params if isinstance(each, TyperOption)]
        yield f"### legation {' '.join((name, *map(_placeholder, arguments)))}\n"
        yield f"{command.help}\n"
        yield from _table(("Flag", "Default", "Says"), map(_flag, options))


def _placeholder(argument: TyperArgument) -> str:
    """Return what stands for an argument in a command, such as FOLDER or [PATHS]."""
    named = argument.metavar or (argument.name or "").upper()
    return named if argument.required else f"[{named}]"


def _flag(option: TyperOption) -> tuple[str, str, str]:
    variable = f" (`{option.envvar}`)" if option.envvar else ""
    default = option.default.value if isinstance(option.default, Enum) else option.default
    default = "" if default is None or default is False or default == "" else f"`{default}`"
    return f"`{'`, `'.join(option.opts)}`{variable}", default, option.help or ""


def _values() -> Iterator[str]:
    """Describe the values of the chart, with the defaults that the chart has."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    yield "## Helm values\n"
    rows = ((name, _default(defaults, name), says) for name, _, says in _fields(schema))
    yield from _table(("Value", "Default", "Says"), ((f"`{name}`", *rest) for name, *rest in rows))


def _parameters() -> Iterator[str]:
    definition = yaml.safe_load(CRD.read_text())
    [version] = definition["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    yield "## GatewayParameters\n"
    yield "What they are for is said with [what an edge grants](gateway-parameters.md).\n"
    rows = ((f"`spec.{name}`", takes, says) for name, takes, says in _fields(spec))
    yield from _table(("Field", "Takes", "Says"), rows)


def _fields(schema: Schema, below: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield name, kind and meaning of whatever a schema has, from the top down."""
    for name, field in schema.get("properties", {}).items():
        path = f"{below}{name}"
        yield path, _takes(field), " ".join(field.get("description", "").split())
        if path != TOLD_BEFORE:
            yield from _fields(field, f"{path}.")
            yield from _fields(field.get("items", {}), f"{path}[].")


def _takes(field: Schema) -> str:
    """Say in a word or two what may be written there."""
    if "enum" in field:
        return ", ".join(f"`{choice}`" for choice in field["enum"])
    return f"{field['minimum']} to {field['maximum']}" if "maximum" in field else str(field["type"])


def _default(values: Schema, path: str) -> str:
    """Return what the chart has by default; nothing where it has a whole object, whose parts say it."""
    found: Any = values
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            return ""
        found = found[name]
    return "" if found == "" or (isinstance(found, dict) and found) else f"`{json.dumps(found)}`"


def _table(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(each.replace('|', '&#124;') for each in row)} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page())
