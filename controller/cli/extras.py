"""The extras: packages that only some commands need, and how to install them where they are missing."""

from collections.abc import Mapping

_EXTRA_OF: Mapping[str, str] = {
    "apsw": "journal",
    "cryptography": "journal",
    "serial": "hardware",
    "gpiozero": "hardware",
    "gpiod": "hardware",
    "lgpio": "hardware",
    "paho": "mqtt",
    "fastapi": "settlement",
    "psycopg": "settlement",
    "sqlalchemy": "settlement",
    "jinja2": "web",
    "starlette": "web",
    "uvicorn": "web",
    "shtab": "completion",
    "PIL": "pictures",
    "cv2": "vision",
    "numpy": "vision",
}
"""The extra that brings each package; pyproject.toml lists them."""
_ALL_OF: Mapping[str, str] = {
    "run": "journal,hardware,mqtt",
    "settlement": "settlement",
    "console": "web",
    "sign_in": "web",
    "people": "web",
}
"""What a command as a whole wants, where one package alone would only lead to the next message."""


def advice(error: ImportError, command: str) -> str | None:
    """Say what to install for this command; None where no extra brings what it misses."""
    package = (error.name or "").partition(".")[0]
    extra = _EXTRA_OF.get(package)
    if extra is None:
        return None
    wanted = _ALL_OF.get(command, extra)
    return (
        f"{command}: found no package {package}, expected it installed: it comes with the extra"
        f" `{extra}`; in the folder of the project run `make tools`,"
        f" or .venv/bin/pip install '.[{wanted}]'"
    )
