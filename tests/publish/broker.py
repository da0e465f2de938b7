"""A mosquitto broker for a test, and certificates for its clients."""

import itertools
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from controller.model.tables import TlsSettings

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
needs_mosquitto = pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed: see .ci/services")

PATIENCE_S = 300.0
BELOW_THE_KERNELS_OWN = range(12_000, 32_000)
_PORTS = itertools.islice(itertools.cycle(BELOW_THE_KERNELS_OWN), os.getpid() * 20 % 20_000, None)
"""Ports from a starting point of each process, so that parallel tests do not collide."""

PLAIN = "user root\nlistener {port} 127.0.0.1\nallow_anonymous true\npersistence false\n"
EXAMPLE = Path(__file__).parents[2] / "systemd" / "mosquitto" / "table.conf"


@dataclass
class Mosquitto:
    """A broker process that can be killed, suspended and restarted on the same port."""

    folder: Path
    config: str = PLAIN
    port: int = 0
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    def start(self) -> None:
        """Start the broker and wait until it listens; try other ports if one is in use."""
        ports = [self.port] if self.port else [free_port() for _ in range(3)]
        assert any(self._listens_at(port) for port in ports), self.log

    def _listens_at(self, port: int) -> bool:
        assert MOSQUITTO is not None
        self.port = port
        file = self.folder / "mosquitto.conf"
        file.write_text(self.config.format(port=port, folder=self.folder), encoding="ascii")
        with (self.folder / "mosquitto.log").open("ab") as log:
            self.process = subprocess.Popen([MOSQUITTO, "-c", str(file)], stdout=log, stderr=log)
        pause = Event()
        while self.process.poll() is None:
            if listens(port):
                return True
            pause.wait(0.005)
        return False

    def kill(self) -> None:
        """Kill the broker; without persistence its sessions are lost."""
        process = self.process
        if process is not None:
            process.kill()
            process.wait(PATIENCE_S)
            self.process = None

    def freeze(self) -> None:
        """Suspend the process. Its connections stay open, but it does not respond."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the process."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    @property
    def log(self) -> str:
        return (self.folder / "mosquitto.log").read_text(encoding="utf-8", errors="replace")


@contextmanager
def running(folder: Path, config: str = PLAIN) -> Iterator[Mosquitto]:
    """Run a broker, and stop it at the end of the test."""
    broker = Mosquitto(folder, config)
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


def guarded() -> str:
    """Return the shipped configuration with the folders of a test."""
    text = EXAMPLE.read_text(encoding="ascii")
    for there, here in (
        ("listener 8883", "listener {port} 127.0.0.1"),
        ("/etc/mosquitto/certs", "{folder}"),
        ("/etc/mosquitto", "{folder}"),
        ("/var/lib/mosquitto", "{folder}"),
    ):
        assert there in text
        text = text.replace(there, here)
    return f"user root\n{text}"


def free_port() -> int:
    """Return a port that no process listens on and that the kernel assigns to no outgoing connection.

    An ephemeral port could be assigned to a client before the test listens on it, and a client that keeps
    retrying such a port could connect to itself. An abstract socket name reserves the port against all other
    tests for the lifetime of this process.
    """
    while True:
        port = next(_PORTS)
        with socket.socket(socket.AF_UNIX) as claim, socket.socket() as probe, suppress(OSError):
            claim.bind(f"\0table-controller-test-port-{port}")
            probe.bind(("127.0.0.1", port))
            claim.detach()  # reserved until this process ends
            return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Authority:
    """Signs certificates, valid for an hour."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        self._certificate = self._signed(name, self._key, authority=True)
        self.file = folder / f"{name}.crt"
        self.file.write_bytes(self._certificate.public_bytes(Encoding.PEM))
        self.revoke()

    def revoke(self, *certificates: str) -> None:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._name)
            .last_update(now - timedelta(hours=1))
            .next_update(now + timedelta(hours=1))
        )
        for file in certificates:
            serial = x509.load_pem_x509_certificate(Path(file).read_bytes()).serial_number
            revoked = x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
            builder = builder.add_revoked_certificate(revoked)
        signed = builder.sign(self._key, hashes.SHA256())
        (self._folder / "revoked.crl").write_bytes(signed.public_bytes(Encoding.PEM))

    def files(self, name: str, label: str = "") -> TlsSettings:
        """Create a key and a certificate with this common name."""
        key = ec.generate_private_key(ec.SECP256R1())
        stem = self._folder / (label or name)
        certificate_file, key_file = stem.with_suffix(".crt"), stem.with_suffix(".key")
        certificate_file.write_bytes(self._signed(name, key).public_bytes(Encoding.PEM))
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        key_file.write_bytes(pem)
        return TlsSettings(ca=str(self.file), certificate=str(certificate_file), key=str(key_file))

    def _signed(
        self, name: str, key: ec.EllipticCurvePrivateKey, *, authority: bool = False
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        )
        return builder.sign(self._key, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
