"""The guest's second program, which runs the host's job directly or under systemd, and then powers off."""

import importlib
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import msgspec

from tests.lab.guest.job import Job, Word

OUT = Path("/lab/out")
SERVICE = """\
[Unit]
After=multi-user.target
[Service]
Type=idle
Environment=PATH={path} HOME=/root LANG=C.UTF-8 PYTHONPATH=/lab
ExecStart={python} -B -m tests.lab.guest.boot service
StandardOutput=file:/dev/console
StandardError=inherit
[Install]
WantedBy=default.target
"""
PATIENT = """\
[Manager]
RuntimeWatchdogSec=5min
"""
"""The soft watchdog counts the host's time. With the table's limit of 10 s, the guest would be rebooted if
the host is busy."""


def begin() -> None:
    """Mount the file systems of a table's machine, and run the job, directly or through systemd."""
    job = msgspec.json.decode((OUT / "job.json").read_bytes(), type=Job)
    if job.systemd:
        Path("/etc/systemd/system.conf.d/zz-lab.conf").write_text(PATIENT)
        wants = Path("/etc/systemd/system/default.target.wants")
        wants.mkdir(parents=True, exist_ok=True)
        service = Path("/etc/systemd/system/lab.service")
        service.write_text(SERVICE.format(path=os.environ["PATH"], python=sys.executable))
        (wants / "lab.service").unlink(missing_ok=True)
        (wants / "lab.service").symlink_to(service)
        login = service.parent / "getty@tty1.service"
        login.unlink(missing_ok=True)
        login.symlink_to("/dev/null")  # messages written there reach the host
        os.execv("/sbin/init", ["/sbin/init"])
    for kind, place in (("tmpfs", "/run"), ("tmpfs", "/tmp"), ("devpts", "/dev/pts"), ("tmpfs", "/dev/shm")):
        Path(place).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", kind, kind, place], check=True)
    subprocess.run(["mount", "-t", "configfs", "configfs", "/sys/kernel/config"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["systemd-sysusers", "table.conf"], check=True)
    subprocess.run(["/lib/systemd/systemd-udevd", "--daemon"], check=True)
    do(job)


def do(job: Job) -> None:
    """Run the job, store the result for the host and power off."""
    module, name = job.work.split(":")
    try:
        returned = getattr(importlib.import_module(module), name)(*job.args, **job.kwargs)
        word = Word(returned=msgspec.to_builtins(returned))
    except BaseException:  # noqa: BLE001 - any exception must reach the host
        word = Word(raised=traceback.format_exc())
    (OUT / "word.json.new").write_bytes(msgspec.json.encode(word))
    (OUT / "word.json.new").rename(OUT / "word.json")
    os.sync()
    Path("/proc/sysrq-trigger").write_text("o")
    time.sleep(60)  # the machine powers off in this time; the kernel panics if its first program ends earlier


if __name__ == "__main__":
    if sys.argv[1:] == ["service"]:
        do(msgspec.json.decode((OUT / "job.json").read_bytes(), type=Job))
    begin()
