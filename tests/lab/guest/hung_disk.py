"""A disk that hangs while the controller is stopped."""

import subprocess
from pathlib import Path

import msgspec

from tests.lab.guest.cut_table import start, unlocked_by_a_person
from tests.lab.guest.table import JOURNAL, LOG, ask
from tests.lab.guest.waiting import must, now_us

NAME = "slow"


class Stopped(msgspec.Struct, frozen=True):
    """The result of stopping the controller: exit code, duration, last output, and the journal's check."""

    exit_code: int
    after_us: int
    words: list[str]
    verified: str


def stop(hangs_ms: int) -> Stopped:
    """Delay every write after a row by this time, stop the controller, and release the disk."""
    _delay("create", 0)
    must("the disk is there", Path(f"/dev/mapper/{NAME}").exists)
    table = start({JOURNAL: f"/dev/mapper/{NAME}"})
    assert unlocked_by_a_person()
    subprocess.run(["dmsetup", "--noudevsync", "suspend", "--nolockfs", NAME], check=True)
    _delay("reload", hangs_ms)
    subprocess.run(["dmsetup", "--noudevsync", "resume", NAME], check=True)
    ask(do="input", name="lock", by="boxperson", who="ann")
    began_us = now_us()
    code = table.stop()
    took_us = now_us() - began_us
    subprocess.run(["dmsetup", "--noudevsync", "suspend", "--nolockfs", NAME], check=True)
    _delay("reload", 0)
    subprocess.run(["dmsetup", "--noudevsync", "resume", NAME], check=True)
    verify = ["tablectl", "journal", "verify", "--journal", str(JOURNAL)]
    verified = subprocess.run(verify, capture_output=True, text=True, check=False)
    words = LOG.read_text(errors="replace").splitlines()
    return Stopped(code, took_us, words[-6:], (verified.stdout + verified.stderr).strip())


def _delay(verb: str, ms: int) -> None:
    sectors = int(Path("/sys/block/ubdb/size").read_text())
    table = f"0 {sectors} delay /dev/ubdb 0 0 /dev/ubdb 0 {ms}"
    subprocess.run(["dmsetup", "--noudevsync", verb, NAME, "--table", table], check=True)
