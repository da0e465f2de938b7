"""Generate the JSON Schemas of all messages, and an AsyncAPI document, from the message types.

Run `python -m controller.publish.schemas [--check]`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Literal

import msgspec

from controller.model.outcomes import OUTCOME_TYPES
from controller.publish.betting import OpenStatement
from controller.publish.events import (
    CONTENT_TYPE,
    SCHEMA_VERSION,
    Acknowledgement,
    Event,
    LateWagersQuery,
    LineBet,
    OpenQuery,
    PairPlus,
    PlayerEvent,
    PlayPlaced,
    PlayQuery,
    ProgressReport,
    ResendRequest,
    TableStatus,
    schema_id,
)
from controller.publish.players import PLAYER_KEYS, REASON_KEYS, TableBoard
from controller.publish.wire import PREFIX, Topics

FOLDER = Path(__file__).parents[2] / "docs" / "messages"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
JSON = "application/json"

Json = dict[str, object]
Family = Literal["outcomes", "players"]

_ANSWERS = {
    "acknowledged": Acknowledgement,
    "again": ResendRequest,
    "ask": OpenQuery,
    "ask_late": LateWagersQuery,
    "ask_play": PlayQuery,
    "meeting": ProgressReport,
    "line_bet": LineBet,
    "pair_plus": PairPlus,
    "played": PlayPlaced,
}


def documents() -> Mapping[str, str]:
    """Return the text of every document, by its path relative to the folder."""
    made: dict[str, Json] = {"asyncapi.json": asyncapi()}
    for type_ in OUTCOME_TYPES:
        made[_file("outcomes", type_)] = outcome_schema(type_)
    for type_ in PLAYER_KEYS:
        made[_file("players", type_)] = player_schema(type_)
    made["status.schema.json"] = _schema_of(TableStatus, schema_id("messages", "status"))
    made["board.schema.json"] = _schema_of(TableBoard, schema_id("messages", "board"))
    made["open.schema.json"] = _schema_of(OpenStatement, schema_id("messages", "open"))
    for name, kind in _ANSWERS.items():
        made[f"{name}.schema.json"] = _schema_of(kind, schema_id("messages", name))
    return {path: json.dumps(document, indent=2) + "\n" for path, document in made.items()}


def outcome_schema(type_: str) -> Json:
    """Return the schema of an outcome type for settlement and the staff."""
    (data, envelope), components = _components(OUTCOME_TYPES[type_], Event)
    return _event_schema("outcomes", type_, envelope, data, components)


def player_schema(type_: str) -> Json:
    """Return the schema of an outcome type for players."""
    (_, envelope), components = _components(OUTCOME_TYPES[type_], PlayerEvent)
    name = OUTCOME_TYPES[type_].__name__
    data = _only(components.pop(name), PLAYER_KEYS[type_])
    if "Reason" in components:
        components["Reason"] = _only(components["Reason"], REASON_KEYS)
    data["description"] = f"The data of {type_} for players."
    return _event_schema("players", type_, envelope, data, components)


def stale(folder: Path) -> list[Path]:
    """Return the documents that do not match the types, and all unexpected JSON files in the folder."""
    expected = {folder / path: text for path, text in documents().items()}
    changed = [
        file
        for file, text in expected.items()
        if not file.is_file() or file.read_text(encoding="utf-8") != text
    ]
    return changed + sorted(set(folder.rglob("*.json")) - set(expected))


def main(arguments: list[str] | None = None, folder: Path = FOLDER) -> int:
    """Write the documents; with `--check`, write nothing and return 1 if a document is stale."""
    parser = argparse.ArgumentParser(prog="python -m controller.publish.schemas", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only check whether the documents are current")
    check = parser.parse_args(arguments).check
    changed = stale(folder)
    made = documents()
    for file in changed:
        if check:
            message = f"{file} is stale; run `python -m controller.publish.schemas` and commit the result\n"
            sys.stderr.write(message)
        elif (text := made.get(str(file.relative_to(folder)))) is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return 1 if check and changed else 0


def asyncapi() -> Json:
    """Return the AsyncAPI 3 document, which lists the messages, their topics and their senders."""
    topics = Topics(*(f"{PREFIX}/{{table}}/{word}" for word in Topics._fields))
    outcomes = {type_: _message("outcomes", type_) for type_ in OUTCOME_TYPES}
    players = {type_: _message("players", type_) for type_ in PLAYER_KEYS}
    status: dict[str, Json] = {"status": _plain_message("status", TableStatus)}
    answers = {name: _plain_message(name, kind) for name, kind in _ANSWERS.items()}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Table controller",
            "version": f"{SCHEMA_VERSION}.0.0",
            "description": "Outcomes of dice, wheel and card tables over MQTT 5. Messages use QoS 1."
            " The settlement engine's queries and reports, and the statement that bets are open, are of no"
            " use once delayed, so they are sent with QoS 0. QoS 1 in the binding of `receiveAnswer` is"
            " the subscription's maximum. An outcome is sent repeatedly until the settlement engine"
            " acknowledges it.",
        },
        "defaultContentType": CONTENT_TYPE,
        "channels": {
            "outcome": _channel(topics.outcome, "Every outcome of a table, in order.", outcomes),
            "players": _channel(topics.players, "The outcomes for players' displays.", players),
            "status": _channel(
                topics.status, "A table's status; retained, and also sent as the table's will.", status
            ),
            "board": _channel(
                topics.board,
                "The table's board, for a display that starts during a game; retained.",
                {"board": _plain_message("board", TableBoard)},
            ),
            "open": _channel(
                topics.open,
                "The statement that bets are open, sent at least twice a second while they remain open, with"
                " QoS 0 and not retained.",
                {"open": _plain_message("open", OpenStatement)},
            ),
            "answer": _channel(
                topics.answer, "The settlement engine's answers, queries and reports.", answers
            ),
        },
        "operations": dict(_operations()),
    }


def _operations() -> Iterator[tuple[str, Json]]:
    for name, action, summary in (
        ("outcome", "send", "The table publishes an outcome, repeatedly until it is acknowledged."),
        ("players", "send", "The table publishes an outcome's data for players, once."),
        ("status", "send", "The table publishes its status whenever it changes."),
        ("board", "send", "The table publishes its board whenever it changes."),
        ("open", "send", "The table states that bets are open, at intervals and in answer to queries."),
        ("answer", "receive", "The table receives the settlement engine's answers, queries and reports."),
    ):
        operation: Json = {"action": action, "channel": {"$ref": f"#/channels/{name}"}, "summary": summary}
        operation["bindings"] = {
            "mqtt": {
                "qos": int(name != "open"),
                "retain": name in ("status", "board"),
                "bindingVersion": "0.2.0",
            }
        }
        if name == "outcome":
            operation["reply"] = {"channel": {"$ref": "#/channels/answer"}}
        yield f"{action}{name.capitalize()}", operation


def _channel(address: str, description: str, messages: Mapping[str, Json]) -> Json:
    return {
        "address": address,
        "description": description,
        "parameters": {"table": {"description": "The table's name."}},
        "messages": {name.replace(".", "_"): message for name, message in messages.items()},
    }


def _message(family: Family, type_: str) -> Json:
    kind = OUTCOME_TYPES[type_]
    return {
        "name": type_,
        "title": type_,
        "summary": _summary(kind),
        "contentType": CONTENT_TYPE,
        "payload": _payload(_file(family, type_)),
    }


def _plain_message(name: str, kind: type) -> Json:
    return {
        "name": name,
        "title": name,
        "summary": _summary(kind),
        "contentType": JSON,
        "payload": _payload(f"{name}.schema.json"),
    }


def _payload(file: str) -> Json:
    return {"schemaFormat": "application/schema+json;version=2020-12", "schema": {"$ref": f"./{file}"}}


def _file(family: Family, type_: str) -> str:
    return f"{family}/{type_}.schema.json"


def _summary(kind: type) -> str:
    return " ".join((kind.__doc__ or "").partition("\n\n")[0].split())


def _components(*kinds: type) -> tuple[list[Json], dict[str, Json]]:
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    return [dict(schema) for schema in schemas], {
        name: _dedented(shape) for name, shape in components.items()
    }


def _dedented(shape: Mapping[str, object]) -> Json:
    """Remove the indentation of a description. Python 3.13 and later do this for docstrings."""
    description = shape.get("description")
    return {**shape, "description": cleandoc(description)} if isinstance(description, str) else dict(shape)


def _schema_of(kind: type, id_: str) -> Json:
    _, components = _components(kind)
    shape = components.pop(kind.__name__)
    return _document(id_, shape, components)


def _event_schema(
    family: Family, type_: str, envelope: Json, data: Json, components: dict[str, Json]
) -> Json:
    shape = components.pop(str(envelope["$ref"]).rpartition("/")[2])
    id_ = schema_id(family, type_)
    properties = shape["properties"]
    assert isinstance(properties, dict)
    shape["properties"] = {**properties, "type": {"const": type_}, "dataschema": {"const": id_}, "data": data}
    if family == "outcomes":
        required = shape["required"]
        assert isinstance(required, list)
        shape["required"] = [*required, "signature"]
    shape["title"] = type_
    return _document(id_, _with_constants_required(shape), components)


def _with_constants_required(shape: Json) -> Json:
    """Require the members with a constant default value, which are always sent."""
    required = shape["required"]
    assert isinstance(required, list)
    return {**shape, "required": ["specversion", "datacontenttype", *required]}


def _document(id_: str, shape: Json, components: Mapping[str, Json]) -> Json:
    document: Json = {"$schema": DIALECT, "$id": id_, **shape}
    used = _used(document, components)
    if used:
        document["$defs"] = {name: components[name] for name in sorted(used)}
    return document


def _used(shape: object, components: Mapping[str, Json]) -> set[str]:
    """Return the names of the components that a schema uses directly or indirectly."""
    found: set[str] = set()
    waiting: list[object] = [shape]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            name = str(node.get("$ref", "")).rpartition("/")[2]
            if name in components and name not in found:
                found.add(name)
                waiting.append(components[name])
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return found


def _only(shape: Json, keys: tuple[str, ...]) -> Json:
    """Keep these keys of a schema and forbid all others."""
    properties, required = shape["properties"], shape.get("required", [])
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    return {
        **shape,
        "properties": {key: properties[key] for key in keys},
        "required": [key for key in required if key in keys],
        "additionalProperties": False,
    }


if __name__ == "__main__":
    sys.exit(main())
