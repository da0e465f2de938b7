"""A release's bill of materials lists every pinned release and its dependencies, with reproducible bytes."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from packaging.version import Version

from controller.supply.sbom import bill, main, read_lock

HERE = Path(__file__).parents[2]
LOCK = HERE / "requirements-table.lock"
SHA_256 = {"type": "object", "required": ["alg", "content"], "properties": {"alg": {"const": "SHA-256"}}}
COMPONENT = {
    "type": "object",
    "required": ["type", "name", "version", "bom-ref", "purl"],
    "additionalProperties": False,
    "properties": {
        "type": {"enum": ["application", "library"]},
        "name": {"type": "string", "minLength": 1},
        "version": {"type": "string", "minLength": 1},
        "bom-ref": {"type": "string", "minLength": 1},
        "purl": {"type": "string", "pattern": "^pkg:pypi/[a-z0-9.-]+@.+$"},
        "hashes": {"type": "array", "items": SHA_256, "uniqueItems": True},
    },
}
SCHEMA = {
    "type": "object",
    "required": ["bomFormat", "specVersion"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"enum": ["http://cyclonedx.org/schema/bom-1.6.schema.json"]},
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.6"},
        "serialNumber": {"pattern": "^urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"},
        "version": {"type": "integer", "minimum": 1},
        "metadata": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"component": COMPONENT},
        },
        "components": {"type": "array", "items": COMPONENT, "uniqueItems": True},
        "dependencies": {
            "type": "array",
            "uniqueItems": True,
            "items": {
                "type": "object",
                "required": ["ref"],
                "additionalProperties": False,
                "properties": {
                    "ref": {"type": "string"},
                    "dependsOn": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
                },
            },
        },
    },
}
"""The part of the CycloneDX 1.6 schema that this bill uses."""


def test_the_bill_conforms_to_cyclonedx() -> None:
    answer = json.loads(bill(read_lock(LOCK), "1.2.3"))
    Draft7Validator(SCHEMA).validate(answer)


def test_the_bill_names_every_release_of_the_lock_with_the_digests_of_its_files() -> None:
    answer = json.loads(bill(read_lock(LOCK), "1.2.3"))
    named = {(one["name"], one["version"]): one["hashes"] for one in answer["components"]}
    pinned = read_lock(LOCK)
    assert set(named) == {(one.name, one.version) for one in pinned}
    assert sum(map(len, named.values())) == sum(len(one.digests) for one in pinned)
    assert all(Version(version) for _, version in named)


def test_the_dependencies_lead_from_the_product_to_every_release() -> None:
    answer = json.loads(bill(read_lock(LOCK), "1.2.3"))
    rests_on = {one["ref"]: one["dependsOn"] for one in answer["dependencies"]}
    reached, waiting = set(), [answer["metadata"]["component"]["bom-ref"]]
    while waiting:
        ref = waiting.pop()
        if ref not in reached:
            reached.add(ref)
            waiting += rests_on[ref]
    assert reached == {one["bom-ref"] for one in answer["components"]} | {"pkg:pypi/table-controller@1.2.3"}


def test_the_same_release_gives_the_same_bytes_and_another_gives_different_ones(tmp_path: Path) -> None:
    pinned = read_lock(LOCK)
    assert bill(pinned, "1.2.3") == bill(list(reversed(pinned)), "1.2.3")
    serials = {json.loads(bill(some, "1.2.3"))["serialNumber"] for some in (pinned, pinned[1:])}
    assert len(serials) == 2
    target = tmp_path / "bill.json"
    assert main([str(LOCK), str(target)]) == 0
    assert json.loads(target.read_bytes())["bomFormat"] == "CycloneDX"


def test_a_lock_that_cannot_be_read_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none"
    assert main([str(missing), str(tmp_path / "bill.json")]) == 2
    assert capsys.readouterr().err == (
        f"sbom: {missing}: No such file or directory; write the lock files with `make lock`\n"
    )
    assert main([str(LOCK), str(tmp_path / "no" / "bill.json")]) == 2
    assert "No such file or directory; name the output file with SBOM=FILE" in capsys.readouterr().err
    assert not (tmp_path / "bill.json").exists()
