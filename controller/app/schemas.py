"""Generator of the configuration files' JSON Schemas: `python -m controller.app.schemas [--check]`."""

import argparse
import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from controller.app.device_types import Kinds
from controller.games.registry import GAMES
from controller.model.rulesets import RuleSet
from controller.settings.devices import BareDevice, shape_of
from controller.settings.places import config_home
from controller.settings.rulesets import SECTIONS
from controller.settings.tables import TableFile


def schemas() -> Mapping[str, str]:
    """Return the text of each schema file by its name."""
    rules = _with_games(TypeAdapter(RuleSet).json_schema(schema_generator=_ForEditors))
    table = TypeAdapter(TableFile).json_schema(schema_generator=_ForEditors)
    files = {"ruleset": rules, "table": _with_devices(_with_thresholds(table, rules))}
    for name, game in GAMES.items():
        shape = game.wagers().pay_table
        key = f"{name.replace('_', '-')}-paytable"
        files[key] = TypeAdapter(shape).json_schema(schema_generator=_ForEditors)
    return {f"{name}.schema.json": json.dumps(schema, indent=2) + "\n" for name, schema in files.items()}


def stale(folder: Path) -> list[Path]:
    """Return the schema files that don't match the configuration types."""
    files = ((folder / name, text) for name, text in schemas().items())
    return [file for file, text in files if not file.is_file() or file.read_text(encoding="utf-8") != text]


def main(arguments: list[str] | None = None) -> int:
    """Write the stale schema files; with `--check`, write none, and return 1 if a file is stale."""
    parser = argparse.ArgumentParser(prog="python -m controller.app.schemas", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only check whether a file is stale")
    check = parser.parse_args(arguments).check
    folder = config_home() / "schema"
    changed = stale(folder)
    for file in changed:
        if check:
            message = f"{file}: stale; run python -m controller.app.schemas and commit the result\n"
            sys.stderr.write(message)
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(schemas()[file.name], encoding="utf-8")
    return 1 if check and changed else 0


class _ForEditors(GenerateJsonSchema):
    """A generator that adds each key's docstring as its description, and forbids unknown keys."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        made = super().dataclass_schema(schema)
        made["additionalProperties"] = False
        for cls in reversed(schema["cls"].__mro__):
            for key, text in _attribute_docstrings(cls):
                made["properties"][key]["description"] = text
        made["properties"].get("type", {}).setdefault("description", "The kind of hardware.")
        return made

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - the same for every field
        """Return False, because a title would repeat the key."""
        return False


def _attribute_docstrings(cls: type) -> Iterator[tuple[str, str]]:
    if cls.__module__ in {"builtins", "types"}:
        return
    source = ast.parse(inspect.getsource(sys.modules[cls.__module__]))
    classes = (node for node in ast.walk(source) if isinstance(node, ast.ClassDef))
    definition = next((node for node in classes if node.name == cls.__name__), None)
    if definition is None:
        return  # A class created at run time has no source; Python 3.13 attributes it to this module.
    for attribute, following in pairwise(definition.body):
        if not isinstance(attribute, ast.AnnAssign) or not isinstance(attribute.target, ast.Name):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            yield attribute.target.id, " ".join(str(following.value.value).split())


def _with_games(rules: JsonSchemaValue) -> JsonSchemaValue:
    described = rules["properties"]["game"]["description"]
    game = {"description": described, "enum": list(GAMES), "type": "string"}
    return {**rules, "properties": {**rules["properties"], "game": game}}


def _with_thresholds(table: JsonSchemaValue, rules: JsonSchemaValue) -> JsonSchemaValue:
    """Allow a table's file to change any threshold of a rule set, and require none."""
    for section in SECTIONS:
        note = table["properties"][section]["description"]
        table["properties"][section] = {**rules["properties"][section], "description": note}
    partial = {name: {**shape, "required": []} for name, shape in rules["$defs"].items()}
    return {**table, "$defs": {**table["$defs"], **partial}}


def _with_devices(table: JsonSchemaValue) -> JsonSchemaValue:
    """Allow each type of device with its keys, and devices without a type."""
    shapes = [BareDevice, *(shape_of(name, kind) for name, kind in sorted(Kinds().items()))]
    made = [TypeAdapter(shape).json_schema(schema_generator=_ForEditors) for shape in shapes]
    parts = {name: part for shape in made for name, part in shape.pop("$defs", {}).items()}
    devices = {**table["properties"]["devices"], "additionalProperties": {"anyOf": made}}
    properties = {**table["properties"], "devices": devices}
    return {**table, "properties": properties, "$defs": {**table["$defs"], **parts}}


if __name__ == "__main__":
    sys.exit(main())
