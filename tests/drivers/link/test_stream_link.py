"""Tests of links to a program on the same machine, through a Unix socket and a named pipe."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivers.link import stream_port
from drivers.link.link import Link, PortError
from drivers.link.stream_port import PipePort, SocketPort
from tests.drivers.link.ptys import Ear, link_to, open_files


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def link(tmp_path: Path, ear: Ear, monkeypatch: pytest.MonkeyPatch) -> Iterator[Link]:
    monkeypatch.setattr(stream_port, "WAIT_TIMEOUT_S", 0.01)
    link = link_to(SocketPort(str(tmp_path / "cam.sock")), ear.inlet, "cam")
    link.start()
    ear.down("no_port")
    yield link
    assert link.stop()


def connected(tmp_path: Path) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.connect(str(tmp_path / "cam.sock"))
    return peer


class TestASocket:
    def test_receives_from_a_program_and_answers_it(self, tmp_path: Path, ear: Ear, link: Link) -> None:
        with connected(tmp_path) as peer:
            ear.up()
            peer.sendall(b'{"kind": "alive"}\n')
            assert ear.data(18) == b'{"kind": "alive"}\n'
            assert link.send(b"hello\n")
            assert peer.recv(6) == b"hello\n"
        assert "closed its connection" in ear.down("unplugged").seen

    @pytest.mark.usefixtures("link")
    def test_receives_from_the_program_again_after_its_restart(self, tmp_path: Path, ear: Ear) -> None:
        before = open_files()
        for _ in range(20):
            with connected(tmp_path) as peer:
                ear.up()
                peer.sendall(b"x")
                ear.data(1)
            ear.down("unplugged")
        ear.down("no_port")
        assert open_files() < before + 20

    @pytest.mark.usefixtures("link")
    def test_may_be_used_by_its_group_only(self, tmp_path: Path) -> None:
        assert stat.S_IMODE((tmp_path / "cam.sock").stat().st_mode) == 0o660

    def test_is_removed_at_the_end(self, tmp_path: Path) -> None:
        port = SocketPort(str(tmp_path / "end.sock"))
        port._listen()
        port.dispose()
        assert not (tmp_path / "end.sock").exists()

    def test_replaces_one_left_by_a_crash(self, tmp_path: Path) -> None:
        path = str(tmp_path / "old.sock")
        with socket.socket(socket.AF_UNIX) as old:
            old.bind(path)
        port = SocketPort(path)
        port._listen()
        port.dispose()

    def test_leaves_another_programs_socket_alone(self, tmp_path: Path) -> None:
        path = str(tmp_path / "theirs.sock")
        with socket.socket(socket.AF_UNIX) as theirs:
            theirs.bind(path)
            theirs.listen()
            port = SocketPort(path)
            with pytest.raises(PortError, match="port_busy"):
                port.open()
            port.dispose()
            assert Path(path).exists()

    def test_in_a_folder_that_does_not_exist_is_a_fault(self, tmp_path: Path) -> None:
        port = SocketPort(str(tmp_path / "no" / "cam.sock"))
        with pytest.raises(PortError, match=r"port_fault: .*No such file or directory"):
            port.open()
        port.dispose()

    def test_whose_program_reads_nothing_is_a_stuck_writer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stream_port, "WRITE_TIMEOUT_S", 0.02)
        port = SocketPort(str(tmp_path / "cam.sock"))
        port._listen()
        with connected(tmp_path):
            port.open()
            with pytest.raises(PortError, match="stuck_writer"):
                port.write(bytes(4_000_000))
        with pytest.raises(PortError, match="unplugged"):
            port.write(b"x")
        port.dispose()


class TestAPipe:
    def test_is_created_and_read_whichever_program_writes(self, tmp_path: Path, ear: Ear) -> None:
        link = link_to(PipePort(str(tmp_path / "cam.pipe")), ear.inlet, "cam")
        link.start()
        ear.up()
        for _ in range(2):
            with (tmp_path / "cam.pipe").open("wb") as script:
                script.write(b"a line\n")
            assert ear.data(7) == b"a line\n"
        link.send(b"nobody reads this")
        assert link.stop()
        assert not [a for a in ear.arrivals if type(a.event).__name__ == "LinkDown"]

    def test_that_is_a_file_is_a_fault(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        port = PipePort(str(tmp_path / "file"))
        before = open_files()
        for _ in range(20):
            with pytest.raises(PortError, match="is not a named pipe"):
                port.open()
        assert open_files() < before + 20
        port.dispose()

    def test_in_a_folder_that_does_not_exist_is_a_fault(self, tmp_path: Path) -> None:
        port = PipePort(str(tmp_path / "no" / "cam.pipe"))
        with pytest.raises(PortError, match="port_fault"):
            port.open()
        port.dispose()
        port.wake()
        assert os.path.exists(tmp_path)
