"""How much a bet may be: table limits, units of combined bets, odds against their flat bet."""

from controller.settlement.craps.book import Bet, Book
from controller.settlement.craps.paytable import LAID, CrapsPayTable, by_name
from controller.settlement.game import Refusal


class Limits:
    """The limits of one pay table, for one book."""

    def __init__(self, table: CrapsPayTable, book: Book) -> None:
        self._settings = table.settings
        self._combined = by_name(table.combined)
        self._odds = by_name(table.odds)
        self._book = book

    def size(self, wager: str, cents: int) -> Refusal | None:
        """Refuse an amount below the minimum, above the maximum or not in whole units of a combined bet."""
        settings, combined = self._settings, self._combined.get(wager)
        units = combined.unit_count if combined else 1
        least, rule = settings.minimum_cents.value, settings.minimum_cents.rule
        if least and combined and wager in settings.minimum_per_unit.value:
            least, rule = least * units, combined.units
        if least and cents < least:
            return Refusal(rule, f"{wager} takes at least {least} cents, not {cents}")
        most = settings.maximum_cents.value
        if most and cents > most:
            return Refusal(settings.maximum_cents.rule, f"{wager} takes at most {most} cents, not {cents}")
        step = units * settings.unit_cents.value
        if combined and cents % step:
            return Refusal(
                combined.units,
                f"{wager} is {units} equal units, so it takes multiples of {step} cents, not {cents}",
            )
        return None

    def odds(self, bet: Bet, cents: int) -> Refusal | None:
        """Refuse odds that, with all others behind the same flat bet, would come to more than they may."""
        multiple = self._settings.odds_multiple.value
        if bet.base is None or bet.number is None or multiple is None:
            return None
        odds = self._odds[bet.wager]
        flat_cents = self._book.bets[bet.base].stake_cents
        most = flat_cents * multiple
        if bet.wager in LAID:
            ratio = odds.pays[bet.number].ratio
            most = most * ratio.to // ratio.pays
        others = sum(other.stake_cents for other in self._book.behind(bet.base) if other.id != bet.id)
        if others + cents > most:
            return Refusal(
                odds.limit,
                f"odds on {bet.number} behind {flat_cents} cents come to at most {most} cents in all, "
                f"not {others + cents}",
            )
        return None
