"""One outcome of every type, including the data that players must not see."""

import msgspec

from controller.journal.chain import Row, WallTime, seal
from controller.journal.contents import outcome_draft
from controller.journal.keys import Key
from controller.model.outcomes import (
    Bets,
    BonusPaid,
    CardPitched,
    CardsBought,
    Data,
    DealCalled,
    DealCorrected,
    DealReview,
    DealVoid,
    GameStarted,
    GameVoid,
    GameWon,
    Outcome,
    PlayerEliminated,
    Pot,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
    RollReview,
    SeatResult,
    ShooterChanged,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    SpinReview,
    TableEvent,
)
from controller.model.verdicts import Notice, Reason

SECRET = "rotor 12.5 rpm, ball 1.83 rev/s"
STAFF = "Ann Bell"
NOTICES = (Notice(code="late_close", seen=SECRET, rule="R-SPIN-3"),)
REASONS = (Reason(code="too_few_revolutions", rule="R-SPIN-2", seen=SECRET, die=1),)
HANDS: dict[str, tuple[str, ...]] = {"1": ("Qh", "Jd", "2c"), "2": ("3s", "4s", "9d")}
FOLDED = "2"
DEALER = ("Kc", "8d", "3h")
RESULTS = (
    SeatResult(seat="1", hand="queen high", result="lose"),
    SeatResult(seat=FOLDED, hand="nine high", result="fold"),
)
POT = Pot(gross=1000, rake=100, bonus=100, prize=800)
TABLE_EVENT = TableEvent(cause="door", what="front door", by="controller", who=STAFF, says=SECRET)
BETS = Bets(round=3, cause="ball_speed", notices=NOTICES)

SAMPLES: dict[str, Data] = {
    "roll.called": RollCalled(
        roll=1,
        dice=(3, 4),
        total=7,
        phase="come_out",
        point=None,
        call="natural",
        point_after=None,
        shooter="4",
        grade="person",
        notices=NOTICES,
        by="boxperson",
        who=STAFF,
        run_out=False,
    ),
    "roll.no_roll": RollNoRoll(roll=2, reasons=REASONS, by="sensors", who=STAFF, notices=NOTICES),
    "roll.review": RollReview(roll=3, reasons=REASONS, dice=(6, 6), notices=NOTICES),
    "roll.corrected": RollCorrected(
        roll=1,
        corrects="table-7/1/1",
        ruling="void",
        by="boxperson",
        who=STAFF,
        reasons=REASONS,
    ),
    "spin.called": SpinCalled(
        spin=1,
        number="17",
        colour="black",
        revolutions=7.25,
        grade="sensors",
        notices=NOTICES,
        by=None,
        who=STAFF,
    ),
    "spin.no_spin": SpinNoSpin(spin=2, reasons=REASONS, by="sensors", who=STAFF, notices=NOTICES),
    "spin.review": SpinReview(spin=3, reasons=REASONS, number="00", notices=NOTICES),
    "spin.corrected": SpinCorrected(
        spin=1,
        corrects="table-7/1/5",
        ruling="set_number",
        by="dealer",
        who=STAFF,
        number="18",
        colour="red",
    ),
    "deal.called": DealCalled(
        deal=1,
        hands=HANDS,
        dealer=DEALER,
        folds=(FOLDED,),
        qualifies=True,
        announcement="king high",
        results=RESULTS,
        grade="sensors",
        notices=NOTICES,
        by=None,
        who=STAFF,
    ),
    "deal.void": DealVoid(deal=2, reasons=REASONS, by="sensors", who=STAFF, notices=NOTICES),
    "deal.review": DealReview(deal=3, reasons=REASONS, notices=NOTICES),
    "deal.corrected": DealCorrected(
        deal=1,
        corrects="table-7/1/9",
        ruling="set_card",
        by="dealer",
        who=STAFF,
        hands=HANDS,
        dealer=DEALER,
        folds=(FOLDED,),
        results=RESULTS,
        reasons=REASONS,
    ),
    "cards.bought": CardsBought(game=2, player="1", count=3, by="dealer", who=STAFF),
    "card.pitched": CardPitched(game=2, player="1", card=11, replaces=None, by="dealer", who=STAFF),
    "game.started": GameStarted(
        game=1,
        button="1",
        seats=("1", "2"),
        cards={"1": (7, 11), "2": (12,)},
        card_cents=100,
        bonus_take=200,
        final=False,
    ),
    "game.void": GameVoid(game=1, reasons=REASONS, by="dealer", who=STAFF),
    "game.won": GameWon(game=1, player="1", total=7, pot=POT, bonus_paid=0),
    "player.eliminated": PlayerEliminated(game=1, players=("2",)),
    "roll.declined": RollDeclined(game=1, player="1", by="dealer", who=STAFF),
    "bonus.paid": BonusPaid(player="1", amount=600, cause="in_a_row"),
    "bets.opened": BETS,
    "bets.closed": BETS,
    "shooter.changed": ShooterChanged(shooter="5", cause="seven_out", by="stickperson", who=STAFF),
    "table.opened": TABLE_EVENT,
    "table.closed": TABLE_EVENT,
    "table.locked": TABLE_EVENT,
    "table.unlocked": TABLE_EVENT,
    "device.down": TABLE_EVENT,
    "device.up": TABLE_EVENT,
    "device.fault": TABLE_EVENT,
    "input.refused": TABLE_EVENT,
}


def sample_row(type_: str, key: Key, *, synced: bool = True) -> Row:
    """Return this sample as the journal's row of a table's fifth outcome."""
    outcome = Outcome(type=type_, t=1_234_567, id="table-7/1/5", seq=5, data=SAMPLES[type_])
    draft = outcome_draft(outcome, WallTime(1_800_000_000_000_001, synced))
    (row,) = seal([draft], 11, b"\0" * 32, key)
    return row


def decoded(payload: bytes) -> dict[str, object]:
    """Decode a message with a general JSON reader."""
    return msgspec.json.decode(payload, type=dict[str, object])
