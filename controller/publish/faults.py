"""The faults of publishing: each with a stable code, its likely cause, what to do, and when it clears."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class PublishFaultKind(NamedTuple):
    """One entry of the catalogue of publishing faults."""

    what: str
    cause: str
    next_step: str
    clears: str
    locks: bool = False


class PublishFault(NamedTuple):
    """An active fault: where, and what was found there."""

    code: str
    where: str
    found: str

    @property
    def kind(self) -> PublishFaultKind:
        """Return its entry in the catalogue."""
        return FAULTS[self.code]

    def __str__(self) -> str:
        return f"{self.where}: {self.kind.what}: {self.found}; {self.kind.next_step} [{self.code}]"


class Alarm(Protocol):
    """Receives faults from any thread; both methods return immediately and may be called repeatedly."""

    def report(self, fault: PublishFault) -> None:
        """Record that this fault is active."""

    def clear(self, code: str) -> None:
        """Record that the fault with this code, if active, is over."""


_START = (
    "start the engine (`systemctl start table-settlement`) or repair the network; for an engine in the"
    " table's own process, see the table's other active fault, or restart the controller; all outcomes wait"
    " in the outbox"
)
_ANSWERED = "automatically, once settlement acknowledges again"
_CONNECTED = "automatically, once the broker accepts the connection"

FAULTS: Mapping[str, PublishFaultKind] = {
    "settlement_silent": PublishFaultKind(
        "the settlement engine does not acknowledge outcomes",
        "the engine is stopped, or cut off from the broker or the table",
        _START,
        _ANSWERED,
    ),
    "settlement_behind": PublishFaultKind(
        "more outcomes wait for the settlement engine than the table's `max_unacknowledged` allows",
        "the engine is stopped, cut off or too slow",
        _START,
        "automatically, once no more than half of that many wait and no attempt is in progress",
        locks=True,
    ),
    "settlement_missing": PublishFaultKind(
        "no settlement engine is connected to this table",
        "the table's file has no `publish:` section, and the controller is installed without a settlement"
        " engine",
        "install it with the extra `settlement`, or set the outcomes' destination in `publish: to:`",
        "when the controller is started with a settlement engine configured",
    ),
    "settlement_failed": PublishFaultKind(
        "the settlement engine in this process could not process an outcome",
        "a full disk, a database that does not respond, or a bug in the engine",
        "free disk space, or start the database named in the message; the outcome is offered again"
        " automatically",
        _ANSWERED,
    ),
    "settlement_refused": PublishFaultKind(
        "the settlement engine in this process refuses an outcome until someone has investigated",
        "two tables with one key, a restored older journal, or an outcome that contradicts the wagers",
        "look up the code at the end of this message in docs/settlement.md; then stop the controller, run"
        " `tablectl settlement release`, and start it again",
        "automatically, once the engine accepts that outcome",
    ),
    "settlement_unfit": PublishFaultKind(
        "the settlement engine in this process can't start with its current settings",
        "its database is in use, or belongs to another table or a newer program; or its port is taken",
        "correct the setting, or free the database or port, that the fault names; the controller tries again"
        " at the next outcome",
        "automatically, once the engine starts",
    ),
    "settlement_absent": PublishFaultKind(
        "no subscriber receives this table's outcomes",
        "the settlement engine never connected to this broker, or its session has expired",
        "start the engine (`systemctl start table-settlement`); its --broker must be the table's broker",
        "automatically, with the next outcome that a subscriber receives",
    ),
    "broker_unreachable": PublishFaultKind(
        "there is no connection to the broker",
        "the broker is stopped, or the network is down",
        "check the broker and the cable; outcomes wait in the outbox",
        _CONNECTED,
    ),
    "broker_refused": PublishFaultKind(
        "the broker rejected this table's connection",
        "a certificate that has expired, was revoked, or is not from the authority that the broker trusts",
        "check the broker's log; if it rejects the table's certificate, renew the certificate",
        _CONNECTED,
    ),
    "broker_files_bad": PublishFaultKind(
        "the certificate, its key or the authority's certificate can't be used",
        "a file is missing, this user may not read it, or the key belongs to another certificate",
        "put the PEM files named in the table's `publish:` section in place",
        "automatically, once they can be used",
    ),
    "publish_refused": PublishFaultKind(
        "the broker refused a message",
        "the broker's access list does not let this table write to that topic, or a limit was reached",
        "correct the access list or the limit at the broker; outcomes are sent again",
        "automatically, once the broker accepts such a message",
    ),
    "identity_taken": PublishFaultKind(
        "another client has connected with this table's identity",
        "a copy of this table's certificate is in use elsewhere, or two controllers serve one table",
        "find the other client and stop it; if it is not yours, have the authority revoke the certificate"
        " and issue the table a new one",
        "automatically, after a minute in which no other client has used the identity",
        locks=True,
    ),
    "answer_unreadable": PublishFaultKind(
        "a message on the topic for settlement's answers is not a valid answer",
        "another program, or an engine of another release, writes to the table's topic",
        "stop that program, or update the engine; the outcome is sent again",
        "automatically, a minute after the last such message",
    ),
    "answer_unsigned": PublishFaultKind(
        "the settlement engine does not sign its answers",
        "an engine of an earlier release, which accepts bets without the table's statement that bets are"
        " open",
        "update the settlement engine; outcomes wait in the outbox in the meantime",
        "automatically, with the first answer that an engine signs",
        locks=True,
    ),
    "answer_forged": PublishFaultKind(
        "an answer arrived that the settlement engine's key did not sign; it was ignored",
        "another program writes to the table's topic, or the engine has another key",
        "find out what writes there; if the engine's key was replaced, enter the key that"
        " `tablectl settlement key` prints under `publish: mqtt: engine_key:`",
        "automatically, a minute after the last such answer",
    ),
    "settlement_ahead": PublishFaultKind(
        "the settlement engine has settled outcomes that are not in this table's journal",
        "an older journal was restored, or another table has this one's key",
        "restore the newest journal (docs/replacing.md); until then no outcome can be settled",
        "automatically, once the engine's reported progress agrees with the journal",
        locks=True,
    ),
    "settlement_differs": PublishFaultKind(
        "the settlement engine has settled a different outcome under one of this table's numbers",
        "an older journal was restored and used for play, or another table has this one's key",
        "stop play; find the second table or the restored journal, and see docs/replacing.md",
        "automatically, once the engine's reported progress agrees with the journal",
        locks=True,
    ),
    "settlement_lost": PublishFaultKind(
        "the settlement engine no longer has outcomes that it acknowledged",
        "its database was restored from a backup",
        "nothing: the table sends the outcomes again; if they were pruned, see `replay_impossible`",
        "automatically, once the engine's reported progress agrees with the journal",
    ),
    "answers_overflow": PublishFaultKind(
        "more answers arrived than could be processed",
        "an engine or another program keeps repeating answers",
        "check what the engine sends; lost answers are requested again automatically",
        "automatically, once the backlog has been processed",
    ),
    "replay_impossible": PublishFaultKind(
        "settlement requested outcomes that are no longer in this journal",
        "the engine was restored from a backup older than the journal's retention",
        "restore a newer backup of the engine; if there is none, pay what is missing by hand, then let the"
        " engine continue after the gap: `tablectl settlement enrol --anew --first` (docs/replacing.md)",
        "automatically, with the next complete replay",
    ),
    "outbox_unreadable": PublishFaultKind(
        "the outbox can't be read",
        "the journal's disk or file is damaged",
        "run `tablectl journal verify`, which names what is wrong; publishing continues once the outbox can"
        " be read",
        "automatically, once the outbox can be read",
    ),
    "sink_failed": PublishFaultKind(
        "the connection to the broker ended because of a bug",
        "a bug in the controller or in its MQTT library",
        "send support this message and the file that `tablectl doctor --bundle FILE` writes; the"
        " connection is restored automatically",
        _CONNECTED,
    ),
}
"""Every fault by its code."""
