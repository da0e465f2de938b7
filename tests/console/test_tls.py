"""The console serves other machines only with TLS, tested with a real certificate."""

import datetime
import http.client
import ipaddress
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from controller.cli.main import main
from controller.console.guard import COOKIE
from tests.app.rig import PATIENCE_S
from tests.console.rig import PEOPLE, Screens

HOST = "127.0.0.2"
"""A replacement for a network interface's address, which the console does not treat as loopback."""
NAME = "pit-1.example"
YEAR = datetime.timedelta(days=365)


def make_certificate(folder: Path, passphrase: bytes | None = None) -> tuple[Path, Path]:
    """Make a self-signed certificate for the address and the name; return its file and the key's file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    names = [x509.DNSName(NAME), x509.IPAddress(ipaddress.ip_address(HOST))]
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - YEAR)
        .not_valid_after(now + YEAR)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "console.crt", folder / "console.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    sealed = (
        serialization.NoEncryption()
        if passphrase is None
        else serialization.BestAvailableEncryption(passphrase)
    )
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, sealed)
    )
    return files


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, certificate: tuple[Path, Path]
) -> Iterator[tuple[str, int]]:
    """Yield the address of a console for other machines."""
    screens = Screens(Path(tmp_path_factory.mktemp("screens")))
    crt, key = map(str, certificate)
    try:
        screens.start_sign_in()
        screens.start_console("--host", HOST, "--certificate", crt, "--key", key, "--known-as", NAME)
        scheme, _, port = screens.url.rpartition(":")
        assert scheme == f"https://{HOST}"
        yield HOST, int(port)
    finally:
        screens.close()


def connected(served: tuple[str, int], certificate: tuple[Path, Path]) -> http.client.HTTPSConnection:
    """Connect as a browser that trusts only this certificate."""
    trusts = ssl.create_default_context(cafile=str(certificate[0]))
    return http.client.HTTPSConnection(*served, context=trusts, timeout=PATIENCE_S)


def test_a_browser_that_trusts_the_certificate_signs_in_and_the_cookie_stays_under_tls(
    served: tuple[str, int], certificate: tuple[Path, Path]
) -> None:
    origin = f"https://{served[0]}:{served[1]}"
    body = json.dumps({"person": "ann", "typed": PEOPLE["ann"][1]})
    with closing(connected(served, certificate)) as browser:
        headers = {"origin": origin, "content-type": "application/json"}
        browser.request("POST", "/sign-in", body, headers)
        answer = browser.getresponse()
        assert json.loads(answer.read()) == {"ok": True}
        cookie = answer.headers["set-cookie"]
        assert "secure" in cookie.lower()
        browser.request("GET", "/", headers={"cookie": cookie.partition(";")[0]})
        assert "Staff console" in browser.getresponse().read().decode()
    assert cookie.startswith(COOKIE)


def test_a_page_under_plain_http_is_another_site(
    served: tuple[str, int], certificate: tuple[Path, Path]
) -> None:
    with closing(connected(served, certificate)) as browser:
        headers = {"origin": f"http://{served[0]}:{served[1]}", "content-type": "application/json"}
        browser.request("POST", "/sign-in", b"{}", headers)
        assert browser.getresponse().status == 403


def test_the_console_answers_only_under_its_own_names(
    served: tuple[str, int], certificate: tuple[Path, Path]
) -> None:
    for host, status in ((f"{NAME}:{served[1]}", 200), ("elsewhere.example", 421)):
        with closing(connected(served, certificate)) as browser:
            browser.request("GET", "/display", headers={"host": host})
            assert browser.getresponse().status == status


def test_a_browser_that_does_not_trust_the_certificate_sends_nothing(served: tuple[str, int]) -> None:
    stranger = http.client.HTTPSConnection(*served, context=ssl.create_default_context(), timeout=PATIENCE_S)
    with closing(stranger), pytest.raises(ssl.SSLCertVerificationError):
        stranger.request("GET", "/")


def test_plain_http_gets_no_page_and_the_reason(
    served: tuple[str, int], certificate: tuple[Path, Path]
) -> None:
    for _ in range(3):
        with closing(http.client.HTTPConnection(*served, timeout=PATIENCE_S)) as plain:
            plain.request("GET", "/display")
            answer = plain.getresponse()
            assert answer.status == 400
            assert b"use https://" in answer.read()
    with closing(connected(served, certificate)) as browser:
        browser.request("GET", "/display")
        assert browser.getresponse().status == 200


def test_clients_that_send_nothing_or_noise_block_no_other(
    served: tuple[str, int], certificate: tuple[Path, Path]
) -> None:
    silent = [socket.create_connection(served, PATIENCE_S) for _ in range(20)]
    for noise in (b"\x00" * 70_000, b"\x16\x03garbage", b""):
        with socket.create_connection(served, PATIENCE_S) as one:
            one.sendall(noise)
    with closing(connected(served, certificate)) as browser:
        browser.request("GET", "/display")
        assert browser.getresponse().status == 200
    for one in silent:
        one.close()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["console", "--port", "0", *arguments]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("host", [HOST, "0.0.0.0", "::", "10.0.0.7"])
def test_another_address_without_tls_is_refused_with_a_message(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "--host", host)
    assert f"--host {host} needs --certificate and --key, because PINs" in said


def test_an_incomplete_or_unusable_certificate_is_refused_with_a_message(
    certificate: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crt, key = map(str, certificate)
    assert "expected both" in refused(capsys, "--certificate", crt)
    gone = str(tmp_path / "gone.crt")
    unusable = refused(capsys, "--certificate", gone, "--key", key)
    assert f"can't use --certificate {gone} with --key {key}" in unusable
    _, others_key = make_certificate(tmp_path)
    assert "expected a certificate and its key" in refused(
        capsys, "--certificate", crt, "--key", str(others_key)
    )
    sealed_crt, sealed_key = make_certificate(tmp_path, b"passphrase")
    said = refused(capsys, "--certificate", str(sealed_crt), "--key", str(sealed_key))
    assert "without a passphrase" in said
