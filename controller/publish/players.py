"""What of an outcome players may see: for each type the keys that are kept, and nothing that is not named.

Rotor and ball timing stays with the staff, before and after the bets are closed: the rotor of one spin is
that of the next. So do sentences, notices, names, proofs, and the hand of a position that folded.
"""

from collections.abc import Mapping

import msgspec

_ROLL = ("roll", "dice", "total", "phase", "point", "call", "point_after", "shooter", "run_out")
_HIGH_ROLLER = ("game", "player", "remaining", "next_player")
_DEALT = ("deal", "hands", "dealer", "folds", "qualifies", "announcement", "results")

PLAYER_KEYS: Mapping[str, tuple[str, ...]] = {
    "roll.called": (*_ROLL, "grade", *_HIGH_ROLLER),
    "roll.no_roll": ("roll", "reasons"),
    "roll.review": ("roll", "reasons"),
    "roll.corrected": (*_ROLL, "corrects", "ruling", "reasons", *_HIGH_ROLLER),
    "spin.called": ("spin", "number", "colour", "grade"),
    "spin.no_spin": ("spin", "reasons"),
    "spin.review": ("spin", "reasons"),
    "spin.corrected": ("spin", "corrects", "ruling", "number", "colour", "reasons"),
    "deal.called": (*_DEALT, "grade"),
    "deal.void": ("deal", "reasons"),
    "deal.review": ("deal", "reasons"),
    "deal.corrected": (*_DEALT, "corrects", "ruling", "reasons"),
    "cards.bought": ("game", "player", "count"),
    "card.pitched": ("game", "player", "card", "replaces"),
    "game.started": ("game", "button", "seats", "cards", "card_cents", "final"),
    "game.void": ("game", "reasons"),
    "game.won": ("game", "player", "total", "pot", "bonus_paid"),
    "player.eliminated": ("game", "players"),
    "roll.declined": ("game", "player"),
    "bonus.paid": ("player", "amount", "cause"),
    "bets.opened": ("round",),
    "bets.closed": ("round",),
    "shooter.changed": ("shooter",),
    "table.opened": (),
    "table.closed": (),
    "table.locked": (),
    "table.unlocked": (),
}
"""The types that players hear of and the keys they get: cards of High Roller lie face up (H-DEAL-1)."""

REASON_KEYS = ("code", "rule", "die")
"""What is kept of a reason: what was seen is measured."""

_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_hands = msgspec.json.Decoder(dict[str, msgspec.Raw] | None).decode
_decode_strings = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_list = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_encode = msgspec.json.Encoder().encode


def player_data(type_: str, data: msgspec.Raw) -> bytes | None:
    """Give the players' part of an outcome's data; None for a type that is not for players."""
    keys = PLAYER_KEYS.get(type_)
    if keys is None:
        return None
    told = _decode(data)
    kept = {key: told[key] for key in keys if key in told}
    if "reasons" in kept:
        reasons = _decode_list(kept["reasons"])
        bare = [{key: reason[key] for key in REASON_KEYS if key in reason} for reason in reasons]
        kept["reasons"] = msgspec.Raw(_encode(bare))
    if "hands" in kept:
        kept["hands"] = _uncovered(kept["hands"], _decode_strings(told["folds"]))
    if "results" in kept:
        kept["results"] = _without_rank_of_folds(kept["results"])
    return _encode(kept)


def _uncovered(hands: msgspec.Raw, folds: tuple[str, ...]) -> msgspec.Raw:
    """Leave out hands that nobody turned over: who folds gives the cards back face down."""
    shown = _decode_hands(hands)
    if shown is None:
        return hands
    return msgspec.Raw(_encode({seat: cards for seat, cards in shown.items() if seat not in folds}))


def _without_rank_of_folds(results: msgspec.Raw) -> msgspec.Raw:
    standing = [result for result in _decode_list(results) if bytes(result["result"]) != b'"fold"']
    return msgspec.Raw(_encode(standing))
