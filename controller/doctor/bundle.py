"""What support gets to see: one archive, without a secret in it."""

import io
import re
import tarfile
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from typing import BinaryIO

import yaml

LEFT_OUT = "(left out)"
_SECRET = re.compile(r"key|pass|secret|token|credential|database|auth|hmac|pin\b", re.IGNORECASE)
_IN_URL = re.compile(r"(?<=//)\S+@")
"""A password may hold a slash or an @ itself: all up to the last @ of the word goes."""
_PEM = re.compile(r"-----BEGIN.*?(?:-----END[A-Z ]*-----|\Z)", re.DOTALL)
_BEARER = re.compile(r"(?i)\b(bearer|basic|identified by)\s+\S+")
_OPTION = re.compile(r"(?i)((?:^|\s)--?(?:token|pass\w*|pwd|secret|key|psk|hmac|p|pin)(?:[ =]|(?<=\s-p)))\S+")
_QUERY = re.compile(r"(?<=\w)[?#]\S*")
_LONG_HEX = re.compile(r"\b[0-9a-fA-F]{32,}\b")
_LONG_BASE64 = re.compile(r"\b[A-Za-z0-9+/_-]{40,}={0,2}")
_SAYS_SECRET = re.compile(
    r"""(?i)\b([\w-]*(?:key|pass|pwd|psk|hmac|secret|token|credential|cookie|session|authorization)[\w-]*[\\"']*\s*[=:]\s*)"""
    r"""("[^"\\\n]*"|'[^'\n]*'|[^\n]+)"""
)
"""A value without quotes may hold blanks, so all to the end of its line goes."""


def without_secrets(document: object, name: str = "") -> object:
    """Give a document with whatever may be a secret left out: by its key's name, and by its looks."""
    match document:
        case Mapping() if name == "digests":
            return document
        case Mapping():
            secret = _SECRET.search(name)
            return {
                key: without_secrets(part, name if secret else str(key)) for key, part in document.items()
            }
        case list():
            return [without_secrets(part, name) for part in document]
        case _ if _SECRET.search(name) and document is not None:
            return LEFT_OUT
        case str():
            return clean(document)
    return document


def clean(text: str) -> str:
    """Return text of our own without passwords in addresses, keys, and what looks like one.

    For what a library's error may have put into it; a log, which holds anything, goes through `known_lines`.
    """
    text = _PEM.sub(LEFT_OUT, text)
    text = _QUERY.sub(LEFT_OUT, _IN_URL.sub(f"{LEFT_OUT}@", text))
    text = _BEARER.sub(rf"\1 {LEFT_OUT}", _OPTION.sub(rf"\1{LEFT_OUT}", text))
    text = _SAYS_SECRET.sub(rf"\1{LEFT_OUT}", text)
    return _LONG_BASE64.sub(LEFT_OUT, _LONG_HEX.sub(LEFT_OUT, text))


def settings_without_secrets(text: str) -> str:
    """Give a YAML file without comments and secrets; nothing of one that can't be read."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return f"{LEFT_OUT}: not readable as YAML, so nothing tells what is secret in it\n"
    return yaml.safe_dump(without_secrets(document), sort_keys=False, allow_unicode=True)


def versions() -> Iterator[str]:
    """Name every package that is installed, with its release."""
    yield from sorted({f"{one.metadata['Name']}=={one.version}" for one in distributions()})


def pack(stream: BinaryIO, members: Mapping[str, str]) -> None:
    """Write the members as files of a gzipped archive."""
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in members.items():
            data = text.encode("utf-8", errors="backslashreplace")
            entry = tarfile.TarInfo(f"table-support/{name}")
            entry.size, entry.mode = len(data), 0o600
            archive.addfile(entry, io.BytesIO(data))
