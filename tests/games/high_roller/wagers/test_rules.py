"""High Roller, rule by rule: a scene and all its results.

By default player 1 has the button and a game adds nothing to the Bonus Pot.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from controller.games.high_roller.wagers.book import WAGERS, Bet, HighRollerBook, Open, Throw
from controller.games.high_roller.wagers.paytable import (
    Decks,
    HighRollerPayTable,
    HighRollerSettings,
    OptionalShare,
    split,
)
from controller.rules.high_roller.rolls import RollPolicy, clockwise_from
from controller.settlement.book import MalformedLine
from controller.settlement.paytable import Figure
from controller.settlement.run import settle
from controller.settlement.wagers import EndedAttempt, NoPlayState
from tests.games.high_roller.wagers.scene import paytable, play, result_lines

SCENES = """
H-EQ-1
  game 1,2,3 button 1; a 1 K; b 1 A; c 1 1; d 1 13; e 1 2; f 1 T; g 1 10; h 1 12; i 1 Q; j 1 J; k 1
  11; l 1 x
  => a rejected H-EQ-1; b rejected H-EQ-1; c rejected H-EQ-1; d rejected H-EQ-1; l rejected H-EQ-1; e
     pending; f pending; g pending; h pending; i pending; j pending; k pending

H-BTN-1
  game 1,2 button 3; a 1 7
  => game refused H-BTN-1; a rejected H-START-1

H-BTN-1
  game 1,2,1 button 1; a 1 7
  => game refused H-BTN-1; a rejected H-START-1

H-START-1
  a 1 7; 3-4; illegal; decline
  => a rejected H-START-1; throw refused H-START-1; illegal refused H-START-1; decline refused
     H-START-1

H-START-1
  game 1,2,3 button 1; a 1 7; b 1 6; 3-4
  => throw refused H-START-1; a pending; b pending

H-START-1
  game 1,2,3 button 1; a 1 7; b 4 6; c 2 5; 3-4
  => b rejected H-START-1; a win 180; c lose; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 1

H-DEAL-1
  game 1,2,3 button 1; a 1 7; remove a; remove b
  => a refused H-DEAL-1; b refused BOOK-ID; a pending

H-REBUY-1
  game 1,2,3 button 1; a 1 7; b 2 6; c 1 5; 2-2; d 1 4; 3-4
  => d rejected H-REBUY-1; a win 270; b lose; c lose; game:1 gross 300 rake 30 bonus 0 prize 270 paid
     0 to 1

H-REBUY-1
  game 1,2,3 button 1; a 1 7; b 2 6; illegal; c 1 7; 3-3
  => c rejected H-REBUY-1; a lose; b win 180; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 2

H-REBUY-1
  game 1,2,3 button 1; a 1 7; b 2 6; 3-4; c 1 7
  => a win 180; b lose; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 1; c rejected H-START-1

H-ROLL-1
  game 1,2,3 button 1; a 1 7; b 2 6; 3-4 by 2; 3-4 by 1
  => throw refused H-ROLL-1; a win 180; b lose; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 1

H-LEGAL-4
  game 1,2,3 button 1; a 1 7; b 2 7; 3-4; illegal by 1; 1-1 by 1; illegal by 2; illegal by 2; 1-2 by 2
  => a lose; b win 180; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 2

H-LEGAL-4
  game 1,2,3 button 1; a 1 7; b 2 7; illegal by 2; illegal by 1
  => illegal refused H-ROLL-1; a pending; b pending

!H-1
  game 1,2,3 button 1; a 1 7; b 2 6; 1-1; 6-6; 3-3 by 1
  => a lose; b win 180; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 2

!H-2
  game 1,2,3 button 1; a 1 7; b 1 7; c 2 6; 3-4
  => a win 270; b lose; c lose; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 1

H-MATCH-1
  game 1,2,3 button 1; a 1 J; b 2 11; c 3 Q; 5-6; 1-1; 1-2
  => a lose; b win 270; c lose; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 2

H-MATCH-1
  game 1,2,3 button 1; a 1 J; b 2 Q; c 3 12; 6-6; 3-1 by 2; 1-1 by 3
  => a lose; b win 270; c lose; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 2

H-ORDER-1
  game 1,2,3 button 1; a 1 7; b 2 7; c 2 7; d 3 7; 3-4; 1-1 by 1; 1-1 by 2; 1-2 by 2; 2-2 by 1; 1-1 by
  3
  => throw refused H-ORDER-1; a win 360; b lose; c lose; d lose; game:1 gross 400 rake 40 bonus 0
     prize 360 paid 0 to 1

H-ORDER-1
  game 1,2,3 button 2; a 1 7; b 2 7; c 3 7; 3-4 by 2; 1-1 by 3; 1-1 by 2; 1-2 by 3; 1-1 by 1
  => throw refused H-ORDER-1; a lose; b lose; c win 270; game:1 gross 300 rake 30 bonus 0 prize 270
     paid 0 to 3

H-ORDER-1
  game 1,2,3 button 2; a 1 7; b 3 7; 3-4 by 2; 1-1 by 1; 1-1 by 3; 1-2 by 1
  => throw refused H-ORDER-1; a win 180; b lose; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to
     1

!H-16
  game 1,2,3 button 3; a 1 7; b 2 6; 3-4 by 3
  => a win 180; b lose; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 1

H-WIN-1
  game 1,2,3 button 1; a 1 7; b 2 7; 3-4; 4-4; 4-5
  => a lose; b win 180; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 2

H-MULTI-1
  game 1,2,3 button 1; a 1 7; b 2 7; c 2 7; 3-4; 1-1 by 2; 6-6 by 2; 5-6 by 1
  => a lose; b lose; c win 270; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 2

!H-17
  game 1,2,3 button 1; a 1 7; b 2 7; c 2 7; 3-4; decline by 2; 6-6 by 2; 5-6 by 1
  => a lose; b lose; c win 270; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 2

!H-17
  game 1,2,3 button 1; a 1 7; b 2 7; c 2 7; 3-4; 6-6 by 2; decline by 2; 5-6
  => a lose; b win 270; c lose; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 2

!H-17
  game 1,2,3 button 1; a 1 7; b 2 7; c 2 7; 3-4; decline by 2; decline by 2; decline by 1; 1-1; 1-2
  => decline refused H-WIN-1; decline refused H-ORDER-1; a win 270; b lose; c lose; game:1 gross 300
     rake 30 bonus 0 prize 270 paid 0 to 1

!H-17
  game 1,2,3 button 1; a 1 7; b 1 7; c 2 7; d 2 7; 3-4; 2-2; 1-1; 1-2; decline by 2
  => a win 360; b lose; c lose; d lose; game:1 gross 400 rake 40 bonus 0 prize 360 paid 0 to 1

H-MULTI-1
  game 1,2,3 button 1; a 1 7; b 2 7; decline by 1
  => decline refused H-MULTI-1; a pending; b pending

H-TIE-1
  game 1,2,3 button 1; a 1 7; b 2 7; c 3 7; 3-4; 4-4; 4-4; 2-2; 3-3 by 1; 3-3 by 2; 1-1 by 1; 1-2 by 2
  => a lose; b win 270; c lose; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 2

H-TIE-1
  game 1,2,3 button 1; a 1 7; b 2 7; 3-4; 4-4; 4-4; decline; 1-1; 1-2
  => decline refused H-WIN-1; a lose; b win 180; game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to
     2

!H-3
  game 1,2,3 button 1; a 1 7; b 2 7; c 2 7; 3-4; 6-6; 6-6; 5-5
  => a lose; b win 270; c lose; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 2

!H-3
  game 1,2,3 button 1; a 1 7; b 2 7; c 2 7; 3-4; 1-1; 6-6; 6-6; 2-2 by 2; 2-1 by 1
  => a lose; b lose; c win 270; game:1 gross 300 rake 30 bonus 0 prize 270 paid 0 to 2

H-MONEY-1
  game 1,2 button 1 take 200; a 1 7; b 2 6; c 2 5; d 2 5; 3-4
  => a win 160; b lose; c lose; d lose; game:1 gross 400 rake 40 bonus 200 prize 160 paid 0 to 1

!H-7
  game 1,2 button 1 take 200; a 1 7; b 2 6; 3-4
  => a win 0; b lose; game:1 gross 200 rake 20 bonus 180 prize 0 paid 0 to 1

H-MONEY-1
  game 1,2 button 1 take 201; a 1 7
  => game refused H-MONEY-1; a rejected H-START-1

H-BONUS-1
  game 1,2 button 1 take 50; a 1 7; b 2 6; 3-4; game 1,2 button 2 take 50; c 1 7; d 2 6; 3-4; game 1,2
  button 1 take 50; e 1 7; f 2 6; 3-4; game 1,2 button 2 take 50; g 1 7; h 2 6; 3-4
  => a win 130; b lose; game:1 gross 200 rake 20 bonus 50 prize 130 paid 0 to 1; c win 130; d lose;
     game:2 gross 200 rake 20 bonus 50 prize 130 paid 0 to 1; e win 280; f lose; game:3 gross 200 rake
     20 bonus 50 prize 130 paid 150 to 1; g win 130; h lose; game:4 gross 200 rake 20 bonus 50 prize
     130 paid 0 to 1

H-CLOSE-1
  game 1,2 button 1 take 50; a 1 7; b 2 6; 3-4; game 1,2 button 2 take 50 final; c 2 7; d 1 6; 3-4;
  end 1
  => a win 130; b lose; game:1 gross 200 rake 20 bonus 50 prize 130 paid 0 to 1; c win 230; d lose;
     game:2 gross 200 rake 20 bonus 50 prize 130 paid 100 to 2

H-CLOSE-2
  game 1,2 button 1 take 50; a 1 7; b 2 6; 3-4; end 2; end 1; end 0; game 1,2 button 2 final; c 2 7; d
  1 6; 3-4
  => a win 130; b lose; game:1 gross 200 rake 20 bonus 50 prize 130 paid 0 to 1; recorded 50; c win
     180; d lose; game:2 gross 200 rake 20 bonus 0 prize 180 paid 0 to 2

!H-19
  game 1,2,3 button 1; a 1 7; b 2 7; 3-4; 6-6; game 1,2 button 2; c 1 7
  => a void; b void; c pending

BOOK-ID
  game 1,2,3 button 1; a 1 7; a 2 7; game:1 2 7
  => a rejected BOOK-ID; game:1 rejected BOOK-ID; a pending
"""


def scenes() -> Iterator[tuple[str, str, str]]:
    """Split the scenes above into rule, steps and results."""
    for block in SCENES.strip().split("\n\n"):
        rule, _, scene = block.partition("\n")
        steps, _, expected = " ".join(scene.split()).partition(" => ")
        yield rule, steps, expected


@pytest.mark.parametrize(("rule", "steps", "expected"), [*scenes()])
def test_rule(rule: str, steps: str, expected: str) -> None:
    assert "; ".join(play(steps)) == expected


def test_h_bonus_1_another_winner_in_between_breaks_the_row() -> None:
    winners = ["1", "1", "2", "1", "1", "1"]
    games = [
        f"game 1,2 button 1 take 50; a{n} {winner} 7; b{n} {3 - int(winner)} 6; 3-4"
        for n, winner in enumerate(winners)
    ]
    paid = [line["bonus_paid"] for line in result_lines("; ".join(games)) if line["wager"] == "pot"]
    assert paid == [0, 0, 0, 0, 0, 300]


def test_h_cap_1_a_player_buys_at_most_150_cards_a_game() -> None:
    cards = "; ".join(f"c{n} 1 {2 + n % 11}" for n in range(151))
    results = play(f"game 1,2 button 1; {cards}; z 2 7")
    assert [line for line in results if "rejected" in line] == ["c150 rejected H-CAP-1"]
    assert len(results) == 152
    again = play(f"game 1,2 button 1; {cards}; z 2 K; game 1,2 button 2; again 1 7")
    assert again[-1] == "again pending"


def with_settings(changed: HighRollerSettings) -> HighRollerPayTable:
    return replace(paytable(), settings=changed)


def test_H_EQ_1_no_more_cards_of_a_rank_are_dealt_than_the_decks_hold() -> None:
    four = with_settings(
        replace(paytable().settings, decks=Decks(value=4, rule="H-EQ-1", reason="")),
    )
    jacks = "; ".join(f"c{n} 1 J" for n in range(17))
    results = play(f"game 1,2 button 1; {jacks}; d 2 11; e 2 T", four)
    assert [line for line in results if "rejected" in line] == ["c16 rejected H-EQ-1", "d rejected H-EQ-1"]


def test_h_8_no_more_cards_are_sold_than_the_decks_hold() -> None:
    four = with_settings(
        replace(
            paytable().settings,
            decks=Decks(value=4, rule="H-EQ-1", reason=""),
            cards_per_player=Figure(value=200, rule="H-CAP-1", reason=""),
        )
    )
    cards = "; ".join(f"c{n} 1 {2 + n % 11}" for n in range(177))
    results = play(f"game 1,2 button 1; {cards}; z 2 7", four)
    assert [line for line in results if "rejected" in line] == ["c176 rejected H-EQ-1", "z rejected H-EQ-1"]


def test_h_bet_1_one_card_is_the_only_wager_at_one_price() -> None:
    game = b'{"do":"game","seats":["1","2"],"button":"1"}'
    bets = [
        b'{"do":"bet","id":"a","player":"1","card":"7","amount":200}',
        b'{"do":"bet","id":"b","player":"1","card":"7","wager":"pass"}',
        b'{"do":"bet","id":"c","player":1,"card":7,"amount":100}',
    ]
    results = b"".join(settle([game, *bets], HighRollerBook(paytable()))).decode().splitlines()
    assert ["H-BET-1" in line for line in results] == [True, True, False]
    assert '"status":"pending","stake":100' in results[2]


def test_h_btn_2_the_button_buys_first_then_clockwise() -> None:
    assert clockwise_from("3", ["1", "2", "3", "5"]) == ["3", "5", "1", "2"]
    assert clockwise_from("1", ["1", "2", "3", "5"]) == ["1", "2", "3", "5"]


def test_h_5_and_7_the_money_is_divided_to_the_cent() -> None:
    assert split(3000, 200, paytable().settings) == (3000, 300, 200, 2500)
    assert split(200, 200, paytable().settings) == (200, 20, 180, 0)
    assert split(700, 0, paytable().settings) == (700, 70, 0, 630)


def test_h_6_the_share_can_be_kept_below_the_rake() -> None:
    margin = OptionalShare(value=100, rule="!H-6", reason="")
    careful = replace(paytable().settings, rake_above_bonus_cents=margin)
    assert [split(cards * 100, 200, careful).bonus for cards in (2, 10, 11, 20, 30, 40)] == [
        0,
        0,
        10,
        100,
        200,
        200,
    ]


def test_h_6_a_game_without_a_share_takes_the_share_of_the_settings() -> None:
    requests = [
        b'{"do":"game","seats":["1","2"],"button":"1"}',
        b'{"do":"bet","id":"a","player":"1","card":"7"}',
        b'{"do":"bet","id":"b","player":"2","card":"6"}',
        b'{"do":"bet","id":"c","player":"2","card":"6"}',
        b'{"do":"throw","dice":[3,4]}',
    ]
    results = b"".join(settle(requests, HighRollerBook(paytable())))
    assert b'"gross":300,"rake":30,"bonus":200,"prize":70' in results


@pytest.mark.parametrize("after", [False, True])
def test_h_12_a_share_that_starts_the_next_pot_is_kept_when_the_pot_is_paid(after: bool) -> None:
    """A new book has an empty pot, so it can replace only a book whose pot is empty."""
    book = HighRollerBook(paytable(), RollPolicy(share_joins_after=after))
    replaceable = []
    for game, final in enumerate((False, True), 1):
        book.apply(Open(seats=(1, 2), button=1, final=final))
        for player in (1, 2):
            book.apply(Bet(id=f"{game}-{player}", player=player, card=5 + player))
        lines = book.apply(Throw(dice=(3, 4)))
        ended = EndedAttempt(NoPlayState(), (), lines, book.remembers)
        replaceable.append(WAGERS.settled_at(ended) is not None)
    assert replaceable == [False, not after]


def test_reasons_name_the_rule() -> None:
    won, lost, other, _ = result_lines("game 1,2 button 1; a 1 7; b 1 6; c 2 7; 3-4; 6-6; 1-1")
    assert won["reason"] == "H-WIN-1: highest roll"
    assert lost["reason"] == "H-MATCH-1: 7 was thrown"
    assert other["reason"] == "H-WIN-1: player 1 won with a"
    (refused, *_) = result_lines("game 1,2 button 1; a 1 7; c 2 7; 3-4 by 2")
    assert refused["reason"] == "it is player 1's turn (the button's roll), not player 2's"


@pytest.mark.parametrize(
    "line",
    [
        '{"do":"throw","dice":[0,6]}',
        '{"do":"throw","dice":[7,1]}',
        '{"do":"throw","dice":[1]}',
        '{"do":"throw","dice":[1,2,3]}',
        '{"do":"game","seats":["1","2"]}',
        '{"do":"end"}',
        '{"do":"bet","id":"a","player":"1"}',
        '{"do":"roll","dice":[1,2]}',
    ],
)
def test_a_line_that_is_not_a_request_ends_the_run(line: str) -> None:
    with pytest.raises(MalformedLine, match="line 1: found"):
        list(settle([line.encode()], HighRollerBook(paytable())))
