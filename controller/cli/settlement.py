"""`tablectl settlement`: run the settlement engine, enrol tables, make tokens, check the books."""

import argparse
import os
import secrets
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import msgspec

from controller.app.service import Notifier
from controller.cli.shell import (
    BAD_INPUT,
    FAILED,
    MAX_ROW,
    OK,
    OUT_OF_REACH,
    add_subcommand,
    on_stop,
    real_number,
    say,
    startup_frozen,
    whole_number,
)
from controller.model.tables import LOCAL_HOSTS, MqttSettings, TlsSettings
from controller.settings.mistakes import SettingsError

EXAMPLES = (
    "tablectl settlement --database sqlite:///settlement.db enrol craps --rules craps-12-034 --key HEX",
    "tablectl settlement --database sqlite:///settlement.db token make till --role staff",
    "tablectl settlement --database sqlite:///settlement.db run --listen 127.0.0.1:8440",
    "tablectl settlement --database sqlite:///settlement.db prove",
)

# ruff: noqa: PLC0415 - database libraries are imported only by the commands that need them

if TYPE_CHECKING:
    from controller.settlement_service.engine import Engine
    from controller.settlement_service.serving import Serving


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "--database",
        default="sqlite:////var/lib/table/settlement.db",
        metavar="URL",
        help="sqlite:////path or postgresql://user@host/name (default: %(default)s)",
    )
    parser.add_argument(
        "--key-file",
        metavar="PEM",
        help="the engine's signing key, created if it does not exist (default: next to an SQLite database,"
        " else /var/lib/table/settlement.key)",
    )
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    run_it = add_subcommand(actions, "run", "serve the HTTP API and settle the outcomes from a broker")
    run_it.add_argument(
        "--listen",
        default="127.0.0.1:8440",
        metavar="HOST:PORT",
        help="the address of the API (default: %(default)s)",
    )
    run_it.add_argument(
        "--certificate", nargs=2, default=(), metavar=("PEM", "KEY"), help="certificate and key for HTTPS"
    )
    run_it.add_argument(
        "--name", default="settlement", help="the engine's name in acknowledgements (default: %(default)s)"
    )
    run_it.add_argument("--broker", metavar="HOST:PORT", help="the MQTT 5 broker to which tables publish")
    run_it.add_argument(
        "--broker-tls", nargs=3, metavar=("CA", "PEM", "KEY"), help="TLS 1.3 files for the broker"
    )
    run_it.add_argument(
        "--word-wait",
        type=real_number(0.001, 60, "seconds"),
        default=0.6,
        metavar="SECONDS",
        help="the maximum time for which a bet waits for its table's signed confirmation that bets are open"
        " (default: %(default)s)",
    )
    run_it.add_argument(
        "--malfunction",
        choices=("stand", "refund"),
        default="stand",
        help="whether bets stand or are refunded when the equipment fails (default: %(default)s)",
    )
    key = add_subcommand(actions, "key", "show the engine's public key, for a table's `engine_key`")
    key.add_argument("--rotate", action="store_true", help="create a new key, signed with the current key")
    add_subcommand(
        actions,
        "prove",
        "check every balance, stake, signature and movement of money, and replay all steps; exit 1: a check"
        " failed",
    )
    enrol = add_subcommand(actions, "enrol", "pin a table's public key and rule set")
    enrol.add_argument("table", help="the table's name")
    enrol.add_argument("--rules", required=True, metavar="NAME", help="the table's rule set")
    enrol.add_argument(
        "--key", required=True, metavar="HEX", help="the table's public key, 64 hexadecimal digits"
    )
    enrol.add_argument(
        "--first",
        type=whole_number(1, MAX_ROW),
        metavar="SEQ",
        help="the number of the table's next outcome (default: 1 for a new table, else as recorded)",
    )
    enrol.add_argument(
        "--anew", action="store_true", help="pin a different key for a table that is already enrolled"
    )
    rounds = add_subcommand(
        actions,
        "rounds",
        "print, for each round, the time from the last wager to the close of bets, and from the close of bets"
        " to the first movement (dice released, ball dropped or first card dealt) and to the result",
    )
    rounds.add_argument("table", help="the table's name")
    rounds.add_argument(
        "--limit",
        type=whole_number(1, MAX_ROW),
        default=20,
        metavar="N",
        help="print at most N rounds (default: %(default)s)",
    )
    release = add_subcommand(
        actions, "release", "allow a halted table to continue after a person's investigation"
    )
    release.add_argument("table", help="the table's name")
    release.add_argument("--who", required=True, help="the person who investigated")
    release.add_argument("--refund", action="store_true", help="refund all stakes of the table first")
    token = add_subcommand(actions, "token", "create, list and revoke the tokens of the HTTP API")
    of_tokens = token.add_subparsers(dest="token", metavar="WHAT", required=True)
    make = add_subcommand(of_tokens, "make", "create a token and print it; it can't be shown again")
    make.add_argument("name", help="the token's name, such as the name of the program that uses it")
    make.add_argument(
        "--role", choices=("staff", "player", "reader"), required=True, help="what the token permits"
    )
    make.add_argument("--player", help="with --role player: the player whose account the token opens")
    add_subcommand(of_tokens, "list", "list all tokens")
    add_subcommand(of_tokens, "revoke", "revoke a token").add_argument("name", help="the token's name")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; return 1 for a failed proof or a refusal, 2 for bad input, 3 if the database fails."""
    from controller.settlement_service.faults import DatabaseUnavailable, RequestRefused, SettlementFault

    try:
        return _do(arguments)
    except (SettlementFault, SettingsError, ValueError) as error:
        say(error)
        return BAD_INPUT
    except RequestRefused as refused:
        say(refused)
        return FAILED
    except DatabaseUnavailable as error:
        say(error)
        return OUT_OF_REACH


def _do(arguments: argparse.Namespace) -> int:
    from controller.settlement_service.engine import Engine
    from controller.settlement_service.gate import WAIT_S, Gate
    from controller.settlement_service.intake import Policies
    from controller.settlement_service.store import Store

    if _needs_existing_database(arguments):
        _check_database(arguments.database)
    if arguments.action == "prove":
        return _prove(arguments.database)
    if arguments.action == "key":
        return _show_key(arguments)
    # Check the arguments before a database is created.
    action = _action(arguments)
    policies = Policies(malfunction=getattr(arguments, "malfunction", "stand"))
    with closing(Store(arguments.database)) as store:
        store.open()
        gate = Gate(lambda: secrets.token_hex(16), getattr(arguments, "word_wait", WAIT_S))
        action(Engine(store, lambda: time.time_ns() // 1000, policies, gate=gate))
    return OK


def _needs_existing_database(arguments: argparse.Namespace) -> bool:
    """Return whether the command needs an existing database.

    `run`, `enrol` without `--anew`, and `token make` without `--player` create a missing database.
    """
    match arguments.action:
        case "run":
            return False
        case "enrol":
            return bool(arguments.anew)
        case "token":
            return getattr(arguments, "player", "") is not None
    return True


def _check_database(database: str) -> None:
    path = database.removeprefix("sqlite:///")
    if path != database and not Path(path).exists():
        raise ValueError(f"--database: there is no settlement database {path}; `enrol` creates it")


def _action(arguments: argparse.Namespace) -> Callable[["Engine"], None]:
    """Check the arguments; return the action as a function that takes the engine.

    Raises ValueError or SettingsError.
    """
    match arguments.action:
        case "run":
            return partial(_run, _serving(arguments), _key_file(arguments))
        case "enrol":
            from controller.settings.paytables import open_book

            open_book(arguments.rules)
            return partial(_enrol, arguments, _key(arguments.key))
        case "rounds":
            return partial(_rounds, arguments)
        case "release":
            return partial(_release, arguments)
    return partial(_token, arguments)


def _show_key(arguments: argparse.Namespace) -> int:
    from controller.settlement_service.key import engine_key, rotate

    path = _key_file(arguments)
    key = rotate(path) if arguments.rotate else engine_key(path, os.environ)
    print(key.public)
    return OK


def _key_file(arguments: argparse.Namespace) -> Path:
    from controller.settlement_service.key import key_path

    return Path(arguments.key_file) if arguments.key_file else key_path(arguments.database)


def _enrol(arguments: argparse.Namespace, key: bytes, engine: "Engine") -> None:
    table, first = arguments.table, arguments.first
    engine.enrol(table, arguments.rules, key, first_seq=first, anew=arguments.anew)
    print(f"{table}: enrolled with {arguments.rules}{'' if first is None else f', from outcome {first} on'}")


def _release(arguments: argparse.Namespace, engine: "Engine") -> None:
    engine.release(arguments.table, arguments.who, refund=arguments.refund)
    print(f"{arguments.table} continues{'; its stakes were refunded' if arguments.refund else ''}")


def _rounds(arguments: argparse.Namespace, engine: "Engine") -> None:
    from controller.settlement_service.http_requests import Views

    print(f"{'round':>8}  {'wager to close':>14}  {'close to move':>14}  {'close to result':>15}   (ms)")
    for one in Views(engine).rounds(arguments.table, arguments.limit):
        ms = (one.wager_to_close_ms, one.close_to_move_ms, one.close_to_result_ms)
        last, moved, result = ("-" if each is None else f"{each:.1f}" for each in ms)
        print(f"{one.round:>8}  {last:>14}  {moved:>14}  {result:>15}")


def _serving(arguments: argparse.Namespace) -> "Serving":
    from controller.settlement_service.serving import Serving

    host, port = _address(arguments.listen, "--listen")
    if host not in LOCAL_HOSTS and not arguments.certificate:
        raise ValueError(
            f"--listen {host} also needs --certificate, because other machines can reach this address"
        )
    if arguments.certificate:
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        _check_pem_files(
            "--certificate", arguments.certificate, lambda: server.load_cert_chain(*arguments.certificate)
        )
    broker = None
    if arguments.broker:
        broker_host, broker_port = _address(arguments.broker, "--broker")
        tls = arguments.broker_tls and TlsSettings(
            ca=arguments.broker_tls[0], certificate=arguments.broker_tls[1], key=arguments.broker_tls[2]
        )
        if broker_host not in LOCAL_HOSTS and not tls:
            raise ValueError(
                f"--broker {broker_host} also needs --broker-tls, because the broker is on another machine"
            )
        if tls:
            from controller.publish.mqtt_link import tls_context

            _check_pem_files("--broker-tls", arguments.broker_tls, lambda: tls_context(tls))
        broker = MqttSettings(host=broker_host, port=broker_port, tls=tls or None)
    return Serving(
        host=host, port=port, name=arguments.name, certificate=arguments.certificate, broker=broker
    )


def _check_pem_files(option: str, files: Sequence[str], load: Callable[[], object]) -> None:
    """Check PEM files before anything is created; raises ValueError for unusable files."""
    missing = next((file for file in files if not Path(file).is_file()), None)
    if missing is not None:
        raise ValueError(f"{option}: the PEM file {missing} does not exist")
    try:
        load()
    except OSError as error:
        raise ValueError(
            f"{option}: can't use {' '.join(files)} ({error.strerror or error}); name PEM files, with the"
            " private key that belongs to the certificate"
        ) from error


def _run(serving: "Serving", key_file: Path, engine: "Engine") -> None:
    from controller.settlement_service.key import engine_key
    from controller.settlement_service.serving import serve

    key = engine_key(key_file, os.environ)

    stop = Event()
    on_stop(stop.set)
    notify = Notifier(os.environ).notify
    with startup_frozen():
        serve(engine, serving, lambda: time.monotonic_ns() // 1000, say, stop=stop, notify=notify, key=key)


def _prove(database: str) -> int:
    from controller.settlement_service.enrolled_table import shipped_games
    from controller.settlement_service.store import Store
    from controller.settlement_service.upkeep import prove

    with closing(Store(database, owner=False)) as store:
        store.open()
        with store.transaction() as connection:
            proof = prove(connection, shipped_games())
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(proof)).decode() + "\n")
    return FAILED if proof.faults else OK


def _token(arguments: argparse.Namespace, engine: "Engine") -> None:
    from controller.settlement_service.http_requests import TOKEN_BYTES, Tokens

    tokens = Tokens(engine)
    match arguments.token:
        case "make":
            secret = secrets.token_urlsafe(TOKEN_BYTES)
            tokens.make(arguments.name, arguments.role, secret, arguments.player)
            print(secret)
        case "revoke":
            tokens.revoke(arguments.name)
            print(f"{arguments.name}: revoked")
        case _:
            listed = tokens.listed()
            if not listed:
                print("no tokens")
            for name, role, player, valid in listed:
                whose = f" of {player}" if player else ""
                print(f"{name}: {role}{whose}{'' if valid else ', revoked'}")


def _key(text: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise ValueError(f"--key: found {text!r}, expected a public key's 64 hexadecimal digits")
    return key


def _address(text: str, option: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{option}: found {text!r}, expected HOST:PORT")
    return host.strip("[]"), int(port)
