"""Measure the memory that each import of the daemon adds to a new interpreter.

`python -m tests.benchmarks.imports` prints megabytes (proportional set size, in which a page shared by
several processes is counted once) and modules, in the order of `PARTS`. A module is attributed to the first
import that loads it.
"""

import re
import sys
from importlib import import_module
from pathlib import Path

PARTS = (
    ("msgspec", "msgspec"),
    ("apsw (SQLite)", "apsw"),
    ("yaml", "yaml"),
    ("transitions", "transitions"),
    ("cryptography", "cryptography.hazmat.primitives.asymmetric.ed25519"),
    ("cryptography's key files", "cryptography.hazmat.primitives.serialization"),
    ("pydantic", "pydantic"),
    ("the table: rules, machines, journal, devices", "controller.app.daemon"),
    ("asyncio and ssl, which SQLAlchemy imports", "asyncio"),
    ("SQLAlchemy", "sqlalchemy"),
    ("the settlement engine", "controller.settlement_service.embedded"),
)
"""The parts, each with the module that loads it."""


def own_pss_mb() -> float:
    """Return this process's proportional set size."""
    found = re.search(r"^Pss: +(\d+) kB", Path("/proc/self/smaps_rollup").read_text("ascii"), re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def main() -> int:
    """Import the parts in order and print the increase of each."""
    before = own_pss_mb()
    sys.stdout.write(f"{'a bare interpreter':<46} {before:6.1f} MB, {len(sys.modules)} modules\n")
    for name, module in PARTS:
        loaded = len(sys.modules)
        import_module(module)
        after = own_pss_mb()
        sys.stdout.write(f"{name:<46} {after - before:+6.1f} MB, {len(sys.modules) - loaded:+} modules\n")
        before = after
    sys.stdout.write(f"{'all imports':<46} {before:6.1f} MB, {len(sys.modules)} modules\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
