"""The doctor's checks of one table: its file, ports, broker, journal, keys and recordings."""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from controller.app.options import Options
from controller.model.tables import PublishSettings, TableSettings
from controller.settings.mistakes import Mistake, SettingsError
from controller.settings.places import config_file
from controller.settings.tables import load_table
from controller.technician.machine_checks import Finding

CONNECT_TIMEOUT_S = 3.0
TABLE_FILE = "table file"


def load(name: str) -> tuple[TableSettings | None, list[Finding]]:
    """Load the table's file; missing hardware is a finding, but does not prevent loading."""
    try:
        from controller.app.device_types import Kinds, load_with_hardware  # noqa: PLC0415 - needs the `hardware` extra
    except ImportError:
        return _loaded(name, lambda: load_table(name))
    settings, findings = _loaded(name, lambda: load_table(name, kinds=Kinds()))
    if settings is None:
        return settings, findings
    try:
        load_with_hardware(name)
    except SettingsError as error:
        lacks = (wrong for wrong in error.mistakes if not _is_chip_mistake(wrong))
        findings += [Finding("fault", TABLE_FILE, str(wrong)) for wrong in lacks]
    return settings, findings


def same_file(name: str | None, status: Mapping[str, object] | None) -> Iterator[Finding]:
    """Check that the running controller loaded the named file."""
    played = None if status is None else status.get("file")
    if name is None or not isinstance(played, str):
        return
    with suppress(SettingsError):
        named = config_file("tables", name).resolve()
        if named != Path(played):
            message = f"examined {named}, but the running controller loaded {played}"
            remedy = "omit the name to examine the running table's own file"
            yield Finding("warning", TABLE_FILE, message, remedy)


def names_in(name: str) -> set[str]:
    """Return the names of a table, its rule set and its devices; empty if its file cannot be used."""
    settings, _ = load(name)
    return set() if settings is None else {settings.table, settings.rules.name, *settings.devices}


def mistaken_in(name: str) -> set[str]:
    """Return the keys in a table's file whose values are invalid, such as `publish.mqtt.port`."""
    kinds = None
    with suppress(ImportError):
        from controller.app.device_types import Kinds  # noqa: PLC0415 - needs the `hardware` extra

        kinds = Kinds()
    try:
        load_table(name, kinds=kinds)
    except SettingsError as error:
        return {wrong.key for wrong in error.mistakes}
    return set()


def _loaded(name: str, load_it: Callable[[], TableSettings]) -> tuple[TableSettings | None, list[Finding]]:
    try:
        settings = load_it()
    except SettingsError as error:
        return None, [Finding("fault", TABLE_FILE, str(wrong)) for wrong in error.mistakes]
    return settings, [Finding("ok", TABLE_FILE, f"{name}: {settings.table}, {settings.rules.name}")]


def _is_chip_mistake(wrong: Mistake) -> bool:
    """Return whether this mistake concerns a GPIO chip. Such mistakes are reported by the check of ports."""
    return wrong.key.endswith(".chip")


def extras_of(settings: TableSettings | None) -> set[str]:
    """Return the extras that this table needs."""
    needs = {"journal", "hardware"}
    if settings is not None:
        needs |= {"mqtt"} if settings.publish.to == "mqtt" else set()
        needs |= {"settlement"} if settings.publish.to in {None, "embedded"} else set()
    return needs


def ports(settings: TableSettings, root: Path) -> Iterator[Finding]:
    """Check that each device's port exists and is accessible to this user."""
    for name, device in settings.devices.items():
        port = getattr(device.settings, "port", None)
        chip = getattr(device.settings, "chip", None)
        if isinstance(port, str):
            yield _port(f"device {name}", root, port)
        elif isinstance(chip, str):
            yield _chip(f"device {name}", root, chip)
        if hasattr(device.settings, "factory"):
            yield _panel_libraries(f"device {name}")


def _port(about: str, root: Path, port: str) -> Finding:
    name = port.removeprefix("unix:").removeprefix("pipe:")
    path = root / name.removeprefix("/")
    if name != port:
        return Finding("ok", about, f"{port}: not checked, because the program behind it might start later")
    if not path.exists():
        remedy = (
            "plug in the device; `tablectl udev` and `ls -l /dev/serial/by-id` list the connected devices"
        )
        return Finding("fault", about, f"{port}: the port does not exist", remedy)
    if not os.access(path, os.R_OK | os.W_OK):
        remedy = "run as root, or add this user to the dialout group"
        return Finding(
            "unchecked", about, f"{port}: the port exists, but is not accessible to this user", remedy
        )
    return Finding("ok", about, f"{port}: the port exists")


def _chip(about: str, root: Path, label: str) -> Finding:
    found = sorted((root / "dev").glob("gpiochip*"))
    if not found:
        remedy = "use a Raspberry Pi 4 or 5 and a kernel with GPIO support; gpiodetect lists the chips"
        return Finding("fault", about, f"there is no /dev/gpiochip*, so the chip {label} is missing", remedy)
    if not any(os.access(path, os.R_OK | os.W_OK) for path in found):
        remedy = "run as root, or add this user to the gpio group"
        return Finding("unchecked", about, "the GPIO chips are not accessible to this user", remedy)
    try:
        from drivers.link.gpio_edges import find_chip  # noqa: PLC0415 - needs the `hardware` extra
        from drivers.link.gpio_kernel import list_chips  # noqa: PLC0415 - as above
        from drivers.link.link import PortError  # noqa: PLC0415 - as above
    except ImportError:
        return Finding("unchecked", about, f"checking for chip {label} needs the `hardware` extra")
    try:
        chip = find_chip(label, list_chips)
    except PortError as error:
        remedy = "correct `chip:` in the table's file: pinctrl-rp1 on a Pi 5, pinctrl-bcm2711 on a Pi 4"
        return Finding("fault", about, str(error), remedy)
    return Finding("ok", about, f"{chip.path} is {label}")


def _panel_libraries(about: str) -> Finding:
    missing = [package for package in ("gpiod", "gpiozero") if find_spec(package) is None]
    if missing:
        message = f"not installed, but needed for a panel's GPIO lines: {', '.join(missing)}"
        return Finding("fault", about, message, "make tools, or pip install '.[hardware]'")
    return Finding("ok", about, "gpiod and gpiozero are installed")


def broker(publish: PublishSettings) -> Iterator[Finding]:
    """Connect to the broker if the table publishes to one."""
    if publish.to != "mqtt" or publish.mqtt is None:
        return
    where = f"{publish.mqtt.host}:{publish.mqtt.port}"
    try:
        with (
            suppress(TimeoutError),
            socket.create_connection((publish.mqtt.host, publish.mqtt.port), CONNECT_TIMEOUT_S),
        ):
            yield Finding("ok", "broker", f"{where} accepts connections")
            return
        yield Finding("fault", "broker", f"{where}: no answer", "check the network and the broker")
    except OSError as error:
        message = f"{where}: {error.strerror or error}"
        yield Finding(
            "fault", "broker", message, "check that the broker is running; outcomes wait in the outbox"
        )


SEALED_KEY = Path("/etc/table/credentials/table-key")
"""The installed unit's sealed signing key, which systemd decrypts only for the service."""


def journal_folder(
    options: Options, environ: Mapping[str, str], sealed: Path = SEALED_KEY
) -> Iterator[Finding]:
    """Check the journal's folder, keys and recordings without disturbing a running controller."""
    if not options.journal.exists() and not options.place.head.exists():
        yield Finding(
            "unchecked", "journal", f"{options.journal} does not exist yet; the first start creates it"
        )
        return
    if options.journal.exists() and not os.access(options.journal, os.R_OK | os.X_OK):
        yield Finding("unchecked", "journal", f"{options.journal}: not accessible to this user; run as root")
        return
    yield from _files_and_groups(options, environ, sealed)
    yield from _journal(options)
    yield _recordings(options)


def _files_and_groups(options: Options, environ: Mapping[str, str], sealed: Path) -> Iterator[Finding]:
    if not os.access(options.journal, os.W_OK):
        yield Finding("unchecked", "files and groups", "only the table's own user or root can check these")
        return
    try:
        from controller.app.options import mistakes_in  # noqa: PLC0415 - needs the `journal` extra
    except ImportError:
        yield Finding("unchecked", "files and groups", "needs the `journal` extra")
        return
    wrong = list(mistakes_in(options, environ))
    if options.key is None and not options.key_file.exists() and sealed.exists():
        wrong = [mistake for mistake in wrong if mistake.file != str(options.key_file)]
        yield Finding("ok", "signing key", f"{sealed}: sealed to this machine; readable only by the service")
    for mistake in wrong:
        yield Finding("fault", "files and groups", str(mistake), mistake.hint)
    if not wrong:
        yield Finding("ok", "files and groups", "folders, keys, head file and groups are in order")


def _journal(options: Options) -> Iterator[Finding]:
    try:
        from controller.journal.faults import JournalFault  # noqa: PLC0415 - needs the `journal` extra
        from controller.journal.head import check_journal_exists, read_head  # noqa: PLC0415 - as above
        from controller.journal.reading import Reader  # noqa: PLC0415 - as above
    except ImportError:
        yield Finding("unchecked", "journal", "needs the `journal` extra")
        return
    path, head = options.place
    try:
        check_journal_exists(options.place, read_head(head))
        if not path.exists():
            yield Finding("unchecked", "journal", f"{path} does not exist yet; the first start creates it")
            return
        with Reader(path) as reader:
            found = reader.verify_all(every_signature=False, head=head)
    except JournalFault as fault:
        yield Finding("fault", "journal", str(fault), fault.kind.next_step)
        return
    message = (
        f"{path}: sound: {found.rows:,} rows, {found.outcomes:,} outcomes, last row {found.last_n}; only"
        " the signatures of sessions and checkpoints were checked; `tablectl journal verify` checks all"
        " signatures"
    )
    if found.unauthenticated:
        yield Finding(
            "warning", "journal", f"{message}. Not authenticated: {'; '.join(found.unauthenticated)}"
        )
    else:
        yield Finding("ok", "journal", message)


def _recordings(options: Options) -> Finding:
    files = [path for path in options.recordings.glob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    message = f"{len(files)} files, {size / 1e6:.1f} of {options.keep_bytes / 1e6:.0f} MB"
    if size > options.keep_bytes:
        return Finding(
            "warning", "recordings", message, "start the controller; it deletes the oldest recordings"
        )
    return Finding("ok", "recordings", message)
