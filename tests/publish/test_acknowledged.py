"""Acknowledgements in a journal, checked long afterwards against the key that signed them."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.cli.main import main
from controller.journal.contents import CLOSED, AckProof
from controller.journal.reading import Reader
from controller.publish.events import Acknowledgement, answer_bytes
from controller.publish.identity import AcknowledgementCheck, check_acknowledgements
from tests.journal.rig import NAME, Rig, append, begin, durable, play_throws, rig_in
from tests.publish.house import ENGINE, ENGINE_KEY

KEY = ENGINE_KEY.public.raw.hex()


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return rig_in(tmp_path)


def words(seq: int, chain: str) -> str:
    """Return an acknowledgement of an outcome, as the engine signs it."""
    ack = Acknowledgement(id=f"{NAME}/1/{seq}", chain=chain, by=ENGINE)
    return answer_bytes(ack, ENGINE_KEY).decode()


def closes_first(rig: Rig, proof: Callable[[str], AckProof | None]) -> AcknowledgementCheck:
    """Close the first outcome with this proof (of its chain hash), and check the journal."""
    with rig.open() as journal:
        begin(journal)
        for step in play_throws(1):
            durable(append(journal, step))
        chain = rig.published[0].link.hex()
        durable(journal.acknowledge(f"{NAME}/1/1", chain, ENGINE, proof(chain)))
    shutil.copy(rig.place.head, rig.place.journal.with_name("journal.head"))
    with Reader(rig.place.journal) as reader:
        return check_acknowledgements(reader.rows(types={CLOSED}))


def test_the_engines_signed_acknowledgement_verifies(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    assert closes_first(rig, lambda chain: AckProof(words=words(1, chain), key=KEY)) == (1, 0, (KEY,), ())
    assert main(["journal", "verify", "--journal", str(rig.place.journal)]) == 0
    assert f"1 acknowledgement signed by the settlement engine: {KEY}" in capsys.readouterr().out


def test_an_engine_in_the_tables_own_process_signs_nothing(rig: Rig) -> None:
    assert closes_first(rig, lambda _: None) == (0, 1, (), ())


@pytest.mark.parametrize(
    ("proof", "found"),
    [
        (lambda chain: AckProof(words=words(2, chain), key=KEY), "an acknowledgement of a different outcome"),
        (lambda _: AckProof(words=words(1, "0" * 64), key=KEY), "an acknowledgement of a different outcome"),
        (lambda chain: AckProof(words=words(1, chain), key="0e" * 32), "a signature that was not made"),
        (lambda _: AckProof(words="{}", key=KEY), "an acknowledgement or a key that"),
        (
            lambda chain: AckProof(words=words(1, chain), key="0e"),
            "an acknowledgement or a key that can't be read",
        ),
    ],
)
def test_an_acknowledgement_that_the_engine_did_not_sign_is_found_by_its_row(
    rig: Rig, proof: Callable[[str], AckProof], found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (wrong,) = closes_first(rig, proof).wrong
    assert f"found {found}" in wrong
    assert main(["journal", "verify", "--journal", str(rig.place.journal)]) == 1
    assert wrong in capsys.readouterr().err
