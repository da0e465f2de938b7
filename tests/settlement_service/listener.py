"""A settlement engine in a separate process, which can be killed.

`python -m tests.settlement_service.listener URL`. `E` and an event in hex is an outcome; `B`, a key and a bet
in JSON is a bet. The listener confirms each committed line with the outcome's id or the bet's key.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from controller.settlement_service.account_requests import AccountRequests, Caller, RequestIdentity
from controller.settlement_service.deliveries import AcknowledgedDelivery
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import DatabaseUnavailable, RequestRefused
from controller.settlement_service.store import Store
from tests.settlement_service.statements import answer_queries, gate
from tests.settlement_service.wheel_play import Line

BATCH = 8


def feed_and_kill(url: str, lines: Sequence[Line], acks: int) -> list[str]:
    """Feed these lines to a listener, and kill it once it has confirmed `acks` of them."""
    with tempfile.TemporaryFile("w+") as source:
        source.writelines(f"{line.line}\n" for line in lines)
        source.seek(0)
        command = [sys.executable, "-m", "tests.settlement_service.listener", url]
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    words = [word.strip() for _, word in zip(range(acks), process.stdout, strict=False)]
    process.kill()
    process.wait()
    process.stdout.close()
    return words


def main(url: str) -> None:
    """Process lines until the end of the input or a kill."""
    store = Store(url)
    while True:
        try:
            store.open()
        except DatabaseUnavailable:
            time.sleep(0.05)  # the interval between two attempts while the database starts is arbitrary
        else:
            break
    engine = Engine(store, lambda: time.time_ns() // 1000, gate=gate())
    answer_queries(engine)
    desk = AccountRequests(engine)
    events: list[bytes] = []
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        if word == "E":
            events.append(bytes.fromhex(rest))
            if len(events) < BATCH:
                continue
        _settle(engine, events)
        events = []
        if word == "B":
            table, bet = json.loads(rest)
            _bet(desk, table, bet)
    _settle(engine, events)
    store.close()


def _settle(engine: Engine, events: list[bytes]) -> None:
    if not events:
        return
    try:
        answers = engine.deliver(events)
    except DatabaseUnavailable:
        return
    for answer in answers:
        if isinstance(answer, AcknowledgedDelivery):
            _tell(answer.id)


def _bet(desk: AccountRequests, table: str, bet: dict[str, object]) -> None:
    key = str(bet["id"])
    try:
        desk.bet(RequestIdentity(Caller(name="till", role="staff"), key), table, bet)
    except DatabaseUnavailable:
        return
    except RequestRefused as refused:
        _tell(f"refused {refused}")
        return
    _tell(key)


def _tell(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
