"""The name of a picture file consists of 64 hexadecimal digits."""

import json

import msgspec
import pytest

from controller.model.readings import AnyReading, DieLost

DIGEST = "0123456789abcdef" * 4
_decode = msgspec.json.Decoder(AnyReading).decode


def lost(pictures: str) -> bytes:
    return json.dumps({"kind": "die_lost", "t": 1, "dev": "cam", "die": 1, "pictures": pictures}).encode()


def test_a_digest_names_a_file() -> None:
    reading = _decode(lost(DIGEST))
    assert isinstance(reading, DieLost)
    assert reading.pictures == DIGEST


@pytest.mark.parametrize(
    "name", ["", DIGEST[1:], DIGEST + "0", DIGEST[1:] + "\n", DIGEST[1:] + "G", "../" + DIGEST[3:]]
)
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        _decode(lost(name))
