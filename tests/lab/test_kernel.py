"""An interrupted build of the kernel is continued. These tests need no machine."""

import tarfile
from pathlib import Path

import pytest

from tests.lab import kernel
from tests.lab.cache import CannotBuild

SOURCE = "linux-source-0.0"
MERGE = "scripts/kconfig/merge_config.sh"
MAKEFILE = """\
defconfig:
\tfor key in {needed}; do echo "CONFIG_$$key=y"; done > $(O)/.config
olddefconfig:
linux:
\ttest -e $(O)/compiled || {{ touch $(O)/compiled; false; }}
\tcp /bin/true $(O)/linux
"""
"""The first build stops after compiling a part, which the next build needs."""


def _source(folder: Path) -> Path:
    tree = folder / SOURCE
    (tree / MERGE).parent.mkdir(parents=True)
    (tree / MERGE).write_text("#!/bin/sh\n")
    (tree / MERGE).chmod(0o755)
    (tree / "Makefile").write_text(MAKEFILE.format(needed=" ".join(kernel.NEEDED)))
    packed = folder / f"{SOURCE}.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        archive.add(tree, SOURCE)
    return packed


def test_a_build_that_was_cut_off_continues_with_what_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "TOOLS", {"make": "make", "strip": "binutils"})
    monkeypatch.setattr(kernel, "PATCHES", ())
    source, made = _source(tmp_path), tmp_path / "cache" / "linux.new"
    made.parent.mkdir()

    with pytest.raises(CannotBuild):
        kernel._build(source, made)
    kernel._build(source, made)

    assert made.exists()
    assert list(made.parent.glob("*.build")) == []
