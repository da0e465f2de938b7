"""The catalogue of publishing faults: stable codes, likely causes, remedies, and when each fault clears."""

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
    """An active fault: its location, and what was found there."""

    code: str
    where: str
    found: str

    @property
    def kind(self) -> PublishFaultKind:
        """The fault's entry in the catalogue."""
        return FAULTS[self.code]

    def __str__(self) -> str:
        return f"{self.where}: {self.kind.what}: {self.found}; {self.kind.next_step} [{self.code}]"


class Alarm(Protocol):
    """Receives faults. Any thread may call either method, any number of times; both return immediately."""

    def report(self, fault: PublishFault) -> None:
        """Mark this fault as active."""

    def clear(self, code: str) -> None:
        """Clear the fault with this code, if it is active."""


_START = (
    "start the engine (`systemctl start table-settlement`) or repair the network; if the engine runs in the"
    " table's own process, see the table's other active fault, or restart the controller; all outcomes wait"
    " in the outbox"
)
_ANSWERED = "automatically, once settlement acknowledges again"
_CONNECTED = "automatically, once the broker accepts the connection"

FAULTS: Mapping[str, PublishFaultKind] = {
    "settlement_silent": PublishFaultKind(
        "the settlement engine does not acknowledge outcomes",
        "the engine is not running, or is cut off from the broker or the table",
        _START,
        _ANSWERED,
    ),
    "settlement_behind": PublishFaultKind(
        "more outcomes are waiting for the settlement engine than the table's `max_unacknowledged` allows",
        "the engine is not running, is cut off, or is too slow",
        _START,
        "automatically, once at most half of `max_unacknowledged` are waiting and no attempt is in progress",
        locks=True,
    ),
    "settlement_missing": PublishFaultKind(
        "no settlement engine is connected to this table",
        "the table's file has no `publish:` section, and the controller is installed without a settlement"
        " engine",
        "install the controller with the `settlement` extra, or set the destination of outcomes in"
        " `publish: to:`",
        "when the controller starts with a settlement engine configured",
    ),
    "settlement_failed": PublishFaultKind(
        "the settlement engine in this process could not process an outcome",
        "a full disk, a database that does not respond, or a bug in the engine",
        "free disk space, or start the database named in the message; the outcome is offered again"
        " automatically",
        _ANSWERED,
    ),
    "settlement_refused": PublishFaultKind(
        "the settlement engine in this process refuses an outcome, and a person must investigate",
        "two tables with the same key, an older journal that was restored, or an outcome that contradicts the"
        " wagers",
        "look up the code at the end of this message in docs/settlement.md; then stop the controller, run"
        " `tablectl settlement release`, and start the controller again",
        "automatically, once the engine accepts that outcome",
    ),
    "settlement_unfit": PublishFaultKind(
        "the settlement engine in this process can't start with its current settings",
        "its database is in use, its database belongs to another table or a newer program, or its port is in"
        " use",
        "correct the setting named in this message, or release the database or port; the controller tries"
        " again at the next outcome",
        "automatically, once the engine starts",
    ),
    "settlement_absent": PublishFaultKind(
        "no subscriber receives this table's outcomes",
        "the settlement engine has never connected to this broker, or its session has expired",
        "start the engine (`systemctl start table-settlement`); its `--broker` option must name the table's"
        " broker",
        "automatically, with the next outcome that a subscriber receives",
    ),
    "broker_unreachable": PublishFaultKind(
        "there is no connection to the broker",
        "the broker is not running, or the network is down",
        "check the broker and the cable; outcomes wait in the outbox",
        _CONNECTED,
    ),
    "broker_refused": PublishFaultKind(
        "the broker rejected this table's connection",
        "a certificate that has expired, has been revoked, or was issued by an authority that the broker does"
        " not trust",
        "check the broker's log; if the broker rejects the table's certificate, renew the certificate",
        _CONNECTED,
    ),
    "broker_files_bad": PublishFaultKind(
        "the certificate, its key or the authority's certificate can't be used",
        "a file is missing, this user is not allowed to read it, or the key belongs to another certificate",
        "provide valid PEM files at the paths named in the table's `publish:` section",
        "automatically, once the files can be used",
    ),
    "publish_refused": PublishFaultKind(
        "the broker refused a message",
        "the broker's access list does not allow this table to write to the topic, or a limit was reached",
        "correct the access list or the limit on the broker; outcomes are sent again",
        "automatically, once the broker accepts such a message",
    ),
    "identity_taken": PublishFaultKind(
        "another client has connected with this table's identity",
        "a copy of this table's certificate is in use elsewhere, or two controllers serve one table",
        "find the other client and stop it; if it is not yours, have the authority revoke the certificate"
        " and issue a new one for the table",
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
        "an old release of the engine, which accepts bets without the table's statement that bets are open",
        "update the settlement engine; outcomes wait in the outbox in the meantime",
        "automatically, with the first answer that an engine signs",
        locks=True,
    ),
    "answer_forged": PublishFaultKind(
        "an answer arrived that was not signed with the settlement engine's key; it was ignored",
        "another program writes to the table's topic, or the engine has a different key",
        "find the program that writes to the topic; if the engine's key was replaced, enter the new key"
        " (`tablectl settlement key` prints it) as `publish: mqtt: engine_key:` in the table's file",
        "automatically, a minute after the last such answer",
    ),
    "settlement_ahead": PublishFaultKind(
        "the settlement engine has settled outcomes that are not in this table's journal",
        "an older journal was restored, or another table has this table's key",
        "restore the newest journal (docs/replacing.md); no outcome can be settled in the meantime",
        "automatically, once the engine's reported progress agrees with the journal",
        locks=True,
    ),
    "settlement_differs": PublishFaultKind(
        "the settlement engine has settled a different outcome under one of this table's outcome numbers",
        "an older journal was restored and used for play, or another table has this table's key",
        "stop play; find the second table or the restored journal, and see docs/replacing.md",
        "automatically, once the engine's reported progress agrees with the journal",
        locks=True,
    ),
    "settlement_lost": PublishFaultKind(
        "the settlement engine no longer has outcomes that it acknowledged",
        "its database was restored from a backup",
        "no action is needed, since the table sends the outcomes again; if they were pruned, see"
        " `replay_impossible`",
        "automatically, once the engine's reported progress agrees with the journal",
    ),
    "answers_overflow": PublishFaultKind(
        "more answers arrived than could be processed",
        "an engine or another program keeps repeating answers",
        "find the program that repeats answers; the table resends the outcomes whose answers were lost",
        "automatically, once the backlog has been processed",
    ),
    "replay_impossible": PublishFaultKind(
        "settlement requested outcomes that are no longer in this journal",
        "the engine was restored from a backup older than the journal's retention period",
        "restore a newer backup of the engine; if there is none, settle the missing outcomes by hand, then"
        " make the engine continue after the gap with `tablectl settlement enrol --anew --first SEQ`"
        " (docs/replacing.md)",
        "automatically, with the next complete replay",
    ),
    "outbox_unreadable": PublishFaultKind(
        "the outbox can't be read",
        "the journal's disk or file is damaged",
        "run `tablectl journal verify` to find the damage; publishing continues once the outbox can be read",
        "automatically, once the outbox can be read",
    ),
    "sink_failed": PublishFaultKind(
        "the connection to the broker ended because of a bug",
        "a bug in the controller or in its MQTT library",
        "send support this message and the file written by `tablectl doctor --bundle FILE`; the connection"
        " is restored automatically",
        _CONNECTED,
    ),
}
"""The catalogue entry of each fault, by code."""
