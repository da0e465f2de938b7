"""A game's money by the policies of a pay table."""

from controller.games.high_roller.wagers.paytable import HighRollerSettings
from controller.rules.high_roller import money


def split(gross: int, bonus_take: int, settings: HighRollerSettings) -> money.Split:
    """Part a game's money (H-MONEY-1), in cents."""
    return money.split(
        gross,
        bonus_take,
        rake_percent=settings.rake_percent.value,
        rake_above_bonus_cents=settings.rake_above_bonus_cents.value,
    )
