"""A PostgreSQL cluster for a test, on a private socket, which can be crashed and restarted."""

import getpass
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

_FOUND = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
BINARIES = _FOUND[-1].parent if _FOUND else None
needs_postgres = pytest.mark.skipif(BINARIES is None, reason="PostgreSQL is not installed: see .ci/services")
SETTINGS = "-c listen_addresses='' -c shared_buffers=16MB -c max_connections=20"


class Cluster:
    """A cluster in its own folder. PostgreSQL refuses to run as root, so root runs it as `postgres`."""

    def __init__(self) -> None:
        assert BINARIES is not None
        self.folder = Path(tempfile.mkdtemp(prefix="pg"))  # A socket's path may have at most 107 characters.
        self._data = self.folder / "data"
        self._user = "postgres" if os.geteuid() == 0 else getpass.getuser()
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self._run("initdb", "--auth=trust", "--username=settlement", "--no-instructions", str(self._data))
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://settlement@/postgres?host={self.folder}"

    def database(self, name: str) -> str:
        """Return the URL of the database with this name; create the database if necessary."""
        engine = create_engine(self.url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            names = connection.execute(text("SELECT datname FROM pg_database")).scalars().all()
            if name not in names:
                connection.execute(text(f'CREATE DATABASE "{name}"'))
        return self.url.replace("/postgres?", f"/{name}?")

    @property
    def pid(self) -> int:
        """Return the process id of the server's main process."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def start(self) -> None:
        """Start the server and wait until it responds."""
        options = f"-k {self.folder} {SETTINGS}"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self._data), "-w", "-o", options, "-l", log, "start")

    def crash(self) -> None:
        """Stop the server immediately. It recovers from its log at the next start."""
        self._run("pg_ctl", "-D", str(self._data), "-w", "-m", "immediate", "stop")

    def remove(self) -> None:
        self.crash()
        shutil.rmtree(self.folder)

    def _run(self, program: str, *arguments: str) -> None:
        assert BINARIES is not None
        as_user = ["runuser", "-u", self._user, "--"] if os.geteuid() == 0 else []
        command = [*as_user, str(BINARIES / program), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
