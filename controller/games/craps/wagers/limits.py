"""How much a bet may be: table limits, units of combined bets, odds against their flat bet."""

from controller.games.craps.wagers.book import Bet, Book
from controller.games.craps.wagers.paytable import LAID, CrapsPayTable, by_name
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

    def spot(self, bet: Bet, cents: int) -> Refusal | None:
        """Refuse what brings a player's bets on one spot above the maximum: they are one bet (CV1-LIM-1)."""
        most = self._settings.maximum_cents
        if most.value is None:
            return None
        others = self._book.on_spot(bet)
        if others + cents <= most.value:
            return None
        already = f", of which {others} lie there" if others else ""
        return Refusal(
            most.rule,
            f"{bet.wager} on a spot comes to at most {most.value} cents a player{already}; not {cents} more",
        )

    def most_odds_cents(self, bet: Bet, flat_cents: int) -> int | None:
        """Return the most that such odds may come to behind so much; None where nothing limits them."""
        multiple = self._settings.odds_multiple.value
        if bet.number is None or multiple is None:
            return None
        most = flat_cents * multiple
        if bet.wager in LAID:
            ratio = self._odds[bet.wager].pays[bet.number].ratio
            most = most * ratio.to // ratio.pays
        return most

    def odds(self, bet: Bet, cents: int) -> Refusal | None:
        """Refuse odds that, with all others behind the same flat bet, would come to more than they may.

        Lay odds are measured by what was originally wagered, unless they follow a reduction (!34-27).
        """
        if bet.base is None:
            return None
        flat = self._book.bets[bet.base]
        original = bet.wager in LAID and not self._settings.lay_odds_follow_reduction.value
        flat_cents = flat.original_cents if original else flat.stake_cents
        most = self.most_odds_cents(bet, flat_cents)
        if most is None:
            return None
        odds = self._odds[bet.wager]
        others = sum(other.stake_cents for other in self._book.behind(bet.base) if other.id != bet.id)
        if others + cents > most:
            return Refusal(
                odds.limit,
                f"odds on {bet.number} behind {flat_cents} cents come to at most {most} cents in all, "
                f"not {others + cents}",
            )
        return None
