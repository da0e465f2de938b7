"""Replace a table's own key: in the journal first, then in its file, and under what else it signed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from controller.app.identity import read_approved, write_approved
from controller.app.key_files import KeyFault, seal_key, unseal
from controller.app.options import APPROVED_FILE, ENGINE_PIN_FILE
from controller.journal.chain import Wall
from controller.journal.head import Place
from controller.journal.keys import CREDENTIAL, Key, load_key, new_pem, write_key
from controller.journal.rotation import Replaced, Word, check_replaceable, replace_key
from controller.publish.pinning import read_pin, write_pin


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlace:
    """Where a table's key is: in a file in the clear, or sealed to this machine by systemd-creds."""

    file: Path
    sealed: bool = False

    def read(self) -> Key:
        """Read it."""
        return unseal(self.file, CREDENTIAL) if self.sealed else load_key(self.file)

    def write(self, pem: bytes) -> None:
        """Write it where there is none."""
        if self.sealed:
            seal_key(pem, self.file, CREDENTIAL)
        else:
            write_key(self.file, pem)


def replace_table_key(
    place: Place, where: KeyPlace, word: Word, *, lost: bool, wall: Callable[[], Wall]
) -> tuple[Replaced, str]:
    """Put a new key in the place of a table's; return the row that says so, and the new public key in hex.

    Cut off at any moment, done again it goes on where it was: the new key lies in `FILE.new` before the
    journal tells of it, and takes the old one's place after.

    Raises:
        JournalFault: a controller runs, the journal can't be gone on with, or the old key is not its own.
        KeyFault: systemd-creds refuses it, or a key that is said to be lost is there.
    """
    if lost and where.file.exists():
        raise KeyFault(
            f"{where.file}: found a key, expected none where it is lost; move it away, or rotate it"
        )
    old = None if lost else where.read()
    made = KeyPlace(file=where.file.with_name(where.file.name + ".new"), sealed=where.sealed)
    begun = made.read() if made.file.exists() else None
    check_replaceable(place, old, begun)
    if begun is None:
        made.write(new_pem())
    new = begun or made.read()
    replaced = replace_key(place, old, new, word, wall())
    if old is not None:
        _sign_anew(place.journal.parent, old, new)
    made.file.replace(where.file)
    return replaced, new.public.raw.hex()


def _sign_anew(folder: Path, old: Key, new: Key) -> None:
    """Keep what was approved and learned under the old key, which a person does not have to do again."""
    approved = read_approved(folder / APPROVED_FILE, old)
    if approved is not None:
        write_approved(folder / APPROVED_FILE, new, approved)
    engine_key = read_pin(folder / ENGINE_PIN_FILE, old.public)
    if engine_key is not None:
        write_pin(folder / ENGINE_PIN_FILE, new, engine_key, "the table's key was replaced")
