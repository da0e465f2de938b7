"""The pages as HTML. Each panel is rendered separately, and a stream sends only changed panels."""

from collections.abc import Mapping

import jinja2

from controller.console import words
from controller.console.feed import ScreenState
from controller.console.guard import Session
from controller.console.keys import CHIPS, keys_for
from controller.model.pockets import colour_of

PANELS = ("head", "state", "ruling", "picture", "now", "results", "trouble", "table")
"""The names of the staff page's panels. Each is also the name of a template and of an element."""
WAIT_SHOWN_MS = 1000
"""The shortest hold that is shown. A shorter one ends before anybody can act."""
_TOTALS = tuple(map(str, range(2, 13)))


def environment() -> jinja2.Environment:
    """Return the template environment. It escapes all values, and raises an error for undefined names."""
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("controller.console"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals.update(words=words, colour_of=colour_of, chips=CHIPS, wait_shown_ms=WAIT_SHOWN_MS)
    return env


class Pages:
    """Renders the pages."""

    def __init__(self) -> None:
        self._env = environment()
        self._panels = {name: self._env.get_template(f"{name}.html") for name in PANELS}
        self._board = self._env.get_template("board.html")

    def staff(self, now: ScreenState, session: Session) -> str:
        """Return the staff page."""
        return self._env.get_template("staff.html").render(
            session=session, panels=self.panels(now, session), names=PANELS
        )

    def panels(self, now: ScreenState, session: Session) -> dict[str, str]:
        """Return the panels of the staff page, by name."""
        floor = now.floor
        keys = None if floor is None or not floor.up else keys_for(floor, session.role)
        return {
            name: panel.render(floor=floor, why=now.why, keys=keys, session=session, filmed=now.filmed)
            for name, panel in self._panels.items()
        }

    def sign_in(self, names: tuple[str, ...], message: str) -> str:
        """Return the sign-in page."""
        return self._env.get_template("sign-in.html").render(names=names, trouble=message)

    def display(self, now: ScreenState) -> str:
        """Return the players' page."""
        return self._env.get_template("display.html").render(board=self.board(now))

    def board(self, now: ScreenState) -> str:
        """Return the contents of the players' page: the board and the counts, or a request to wait."""
        if now.board is None or now.floor is None:
            return self._env.get_template("no-board.html").render()
        counts = _in_order(now.floor.game, now.counts or {}, now.floor.pockets)
        return self._board.render(
            board=now.board,
            game=now.floor.game,
            attempt=now.floor.attempt.word,
            counts=counts,
            most=max([*counts.values(), 1]),
            played=sum(counts.values()),
        )


def _in_order(game: str, counts: Mapping[str, int], pockets: tuple[str, ...]) -> dict[str, int]:
    if game == "three_card":
        return {key: counts.get(key, 0) for key in ("plays", "does not play")}
    if game == "roulette":
        return {
            key: counts.get(key, 0)
            for key in sorted(pockets, key=lambda each: (len(each) > 2, int(each), each))
        }
    return {key: counts.get(key, 0) for key in _TOTALS}
