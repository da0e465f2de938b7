"""The catalogue of rules in our own words, with each rule's id, document, line numbers and meaning.

The texts after the code contain the rules: one text for each document, and one for the gaps in the documents.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

DOCUMENTS: Mapping[str, str] = {
    "C34": "Craps 12 034",
    "CV1": "Craps Version 1",
    "R": "Roulette",
    "T": "Three Card Poker 12 014",
    "H": "High Roller 12 005",
    "!X": "several documents",
    "!34": "Craps 12 034",
    "!V1": "Craps Version 1",
    "!R": "Roulette",
    "!T": "Three Card Poker 12 014",
    "!H": "High Roller 12 005",
}
"""The document of a rule, by the first part of the rule's id; `!` marks a gap in the document."""
ID = re.compile(
    r"(?:(?:C34|CV1)-[A-Z0-9]+(?:-[0-9]+[a-z]*)?|[RTH]-[A-Z]+-[0-9]+[a-z]*|!(?:X|34|V1|R|T|H)-[0-9]+)\b"
)


class Rule(NamedTuple):
    """A rule of a document, or a gap in a document with the decision that fills it."""

    id: str
    document: str
    lines: str
    """The rule's lines in the document, from 1; `-` if there are none, `several` if documents differ."""
    meaning: str

    @property
    def place(self) -> str:
        """The document and lines of the rule, for a message."""
        if self.lines == "-":
            return f"{self.document}, which does not mention it"
        if self.lines == "several":
            return "several documents, which differ"
        return f"{self.document}, line{'s' if re.search('[-,]', self.lines) else ''} {self.lines}"


@cache
def rules() -> Mapping[str, Rule]:
    """Return every rule by its id."""
    return {rule.id: rule for text in _TEXTS for rule in _parsed(text)}


def _parsed(text: str) -> Iterator[Rule]:
    for line in re.sub(r"\n  ", " ", text).splitlines():
        ids, lines, meaning = line.split("|")
        first, *others = ids.split(",")
        stem = first.rpartition("-")[0]
        for id_ in (first, *(f"{stem}-{other}" for other in others)):
            yield Rule(id_, DOCUMENTS[id_.partition("-")[0]], lines, meaning)


CRAPS_12_034 = """\
C34-DEF-1|15|The come-out point is the box number (4, 5, 6, 8, 9, 10) that a come-out roll sets.
C34-DEF-2|16|A come-out roll is the opening roll, or the first roll after Pass and Don't Pass have been
  decided.
C34-DEF-3|17|Each Come or Don't Come bet has its own point: the box number thrown on the first roll after the
  bet was made.
C34-PASS-1|23|Pass is bet on its own line, immediately before a come-out roll.
C34-PASS-2|24-25|Pass wins at once on a come-out 7 or 11.
C34-PASS-3|26|Pass wins if the point is repeated before a 7.
C34-PASS-4|27-28|Pass loses at once on a come-out 2, 3 or 12.
C34-PASS-5|30|Pass loses if a 7 is thrown before the point.
C34-DP-1|31|Don't Pass is bet on its own line, immediately before a come-out roll.
C34-DP-2|33|Don't Pass wins at once on a come-out 2 or 3.
C34-DP-3|34|Don't Pass wins if a 7 is thrown before the point.
C34-DP-4|36|Don't Pass loses at once on a come-out 7 or 11.
C34-DP-5|37|Don't Pass loses if the point is repeated before a 7.
C34-DP-6|38|A come-out 12 does not decide Don't Pass: the stake is returned.
C34-COME-1|39|Come is bet after the come-out roll; !34-1 states exactly when.
C34-COME-2|41|Come wins on a 7 or 11 on the next roll.
C34-COME-3|42|Come wins if its own point is repeated before a 7.
C34-COME-4|45|Come loses on a 2, 3 or 12 on the next roll.
C34-COME-5|46|Come loses if a 7 is thrown before its own point.
C34-DC-1|47|Don't Come may be bet whenever Come may be bet.
C34-DC-2,3,4,5,6|48-54|Don't Come is decided like Don't Pass, from the first roll after it was made: 2 and 3
  win, 7 and 11 lose, 12 is void, and after that a 7 or its point decides.
C34-PLACE-1|55|A place bet on a box number wins if that number is thrown before a 7, whenever the bet was
  made.
C34-PLACE-2|55|Place bets are off on come-out rolls unless the player calls them on and the dealer marks them
  with a button.
C34-HARD-4,6,8,10|56-62|A hard way wins if its pair is thrown before a 7 and before the same total is thrown
  any other way.
C34-FIELD-1|63|The field is decided by one roll: 2, 3, 4, 9, 10, 11 and 12 win.
C34-A7-1|64|Any Seven wins on a 7 on the next roll.
C34-AC-1|65|Any Craps wins on a 2, 3 or 12 on the next roll.
C34-YO-1|66|Eleven in one roll wins on an 11 on the next roll.
C34-CE-1|67-69|Craps-Eleven wins on a 2, 3, 11 or 12 on the next roll.
C34-HORN-1|71|Horn wins on a 2, 3, 11 or 12 on the next roll.
C34-HH-1|72|Horn High is a Horn with the stake on one of its numbers doubled.
C34-HH-2|72|Horn High is made in units of five: a Horn of four, and one more unit on one of its numbers.
C34-WHIRL-1|73|Whirl, also called World, is a Horn and Any Seven in one bet.
C34-WHIRL-2|73|Whirl is made in units of five: one each on 2, 3, 11, 12 and Any Seven.
C34-C2-1|106|Craps 2 has odds in the pay table but is not described anywhere (!34-5).
C34-C3-1|107|Craps 3 has odds in the pay table but is not described anywhere (!34-5).
C34-C12-1|108|Craps 12 has odds in the pay table but is not described anywhere (!34-5).
C34-MK-1a|77|Bets should be made before the dice are thrown.
C34-MK-1b|77|A bet made while the dice are rolling is valid only if a dealer and a boxperson both confirm it
  aloud.
C34-MK-2a|78|Bets are chips on the layout.
C34-MK-2b|78|A spoken bet with cash is accepted if the dealer confirms it and the cash is changed into chips
  at once.
C34-MK-3a|79|A bet may be taken down or reduced before the roll that decides it.
C34-MK-3b|79|A Pass bet with a point, and a Come bet with its own point, stay up until they are decided.
C34-MK-4|81|A Don't bet that was reduced or removed may not be raised or replaced until it has been decided.
C34-MK-5a|82|Place bets, come odds and hard ways are off on come-out rolls unless they are called on.
C34-MK-5b|82|All other bets always work.
C34-PAY-1,2,3,4|89-92|Pass, Don't Pass, Come and Don't Come pay even money.
C34-PAY-5,10|93, 98|Place on 4 and 10 pays 7 to 4.
C34-PAY-6,9|94, 97|Place on 5 and 9 pays 5 to 4.
C34-PAY-7,8|95-96|Place on 6 and 8 pays even money.
C34-PAY-11,14|99, 102|Hard 4 and hard 10 pay 7 to 1.
C34-PAY-12,13|100-101|Hard 6 and hard 8 pay 9 to 1.
C34-PAY-15|103|The field pays even money, and 2 to 1 on 2 and on 12.
C34-PAY-16|104|Any Seven pays 4 to 1.
C34-PAY-17|105|Any Craps pays 7 to 1.
C34-PAY-18,20|106, 108|Craps 2 and Craps 12 pay 30 to 1.
C34-PAY-19|107|Craps 3 pays 15 to 1.
C34-PAY-21|109|Eleven in one roll pays 15 to 1.
C34-PAY-22|111|Horn and Horn High are paid like the separate bets on 2, 3, 11 and 12 that they combine.
C34-PAY-23|112|Craps-Eleven is paid as half a bet on Any Craps and half a bet on eleven.
C34-PAY-24|-|Whirl has no line in the pay table; it is paid as its five parts (!34-6).
C34-ODDS-1|116|Behind Pass with a point, odds are taken up to the amount of the Pass bet: 2 to 1 on 4 and 10,
  3 to 2 on 5 and 9, even money on 6 and 8.
C34-ODDS-2|117|Behind Don't Pass with a point, odds are laid to win at most the original bet: 1 to 2 on
  4 and 10, 3 to 4 on the others.
C34-ODDS-3|118|Behind Come with its point, odds are taken as behind Pass.
C34-ODDS-4|120|Behind Don't Come with its point, odds are laid as behind Don't Pass.
C34-DICE-1|124|At the start, the dice are offered clockwise from the boxperson's left.
C34-DICE-2|125|The first player to accept the dice is the shooter and chooses two; the other dice go back into
  the cup.
C34-DICE-3|154|A set has at least five dice.
C34-DICE-4|126|The shooter must bet on Pass or Don't Pass before throwing.
C34-DICE-5|126|Both dice leave the hand together, towards the end farthest from the shooter.
C34-INV-1a|130|A die that leaves the table makes the throw void.
C34-INV-1b|130|A die that rests on the other die makes the throw void.
C34-INV-2i|132|No Roll if the dice do not leave the hand at the same time.
C34-INV-2ii|133|No Roll if a die hits neither end of the table.
C34-INV-2iii|135|No Roll if a die rests on the bank's chips in front of the boxperson.
C34-INV-2iv|136|No Roll if a die rests in the cup or on a rail.
C34-INV-2v|137|No Roll for cheating, or for using a device or technique that influences the throw.
C34-INV-2vi|138|No Roll for any other reason that makes the throw improper in the boxperson's view.
C34-INV-3|139|Touching chips that are not the bank's does not void a throw.
C34-PT-1|143|The stickperson calls a valid throw by the upper faces as soon as the dice are at rest.
C34-PT-1i|144|A die that leans on chips or an object is read by the face opposite the side on which it rests.
C34-PT-2|144|If more than one side of a die rests on a stack or object, the throw is void.
C34-PT-3|145|The boxperson decides a disputed face or has the dice thrown again.
C34-PT-4|146|After the call, the stickperson moves the dice to the middle of the table.
C34-PT-5|146|All wagers decided by a throw are settled before the dice go out again.
C34-PT-6|146|The dice are moved with the stick.
C34-CONT-1|150|After any roll, the shooter may continue or pass the dice, with the exceptions that follow.
C34-CONT-1i|151|The shooter passes the dice after throwing a loser (!34-15 states which rolls are losers).
C34-CONT-1ii|152|The boxperson may order the shooter to pass the dice for delay, for repeated invalid rolls or
  for breaking the rules.
C34-CONT-2a|153|If a shooter who made the point makes no new line bet while Come bets are up, the dice are
  offered to the next player.
C34-CONT-2b|153|If nobody accepts the dice, the previous shooter throws without a line bet to decide the Come
  bets; this is called a run-out.
C34-CONT-2c|153|In a run-out, the puck is off and lies on the Don't Pass line in front of that shooter.
C34-CONT-3|154|The full set of dice is offered to a new shooter, the next player to the left.
C34-CONT-4|155|The first player to accept is the new shooter and chooses two dice.
"""


CRAPS_V1 = """\
CV1-OBJ-1|9|Players bet against the house on the result of two dice, at the odds posted at the table.
CV1-LIM-1|13|Bets are one to ten dollars; all of a player's bets on one spot count as one bet.
CV1-LIM-2|33|No bet on a roll may exceed the limit set by the state.
CV1-LIM-3|17|The house offers the bets in the pay table that it posts, and pays at the odds posted there.
CV1-SHOOT-1|19|The shooter must have a bet on Pass or Don't Pass.
CV1-SHOOT-2|21, 25|The dice pass clockwise.
CV1-SHOOT-3|21|The dice are thrown at the far back wall, and normally both must hit it.
CV1-SHOOT-4|21|A supervisor may first give a few warnings, and accepts a throw in which one die hit the wall.
CV1-INV-1|21|Both dice are thrown together from one hand.
CV1-INV-2|21|A throw of only one die is no roll.
CV1-INV-3|21|A throw that a dealer or supervisor declares a no roll does not count and is repeated.
CV1-RND-1|21|A round consists of its come-out rolls and then the throws for the point.
CV1-RND-2|23|A come-out 2, 3 or 12 is craps: Pass loses, Don't Pass wins on 2 and 3 and ties on 12.
CV1-RND-3|23|A come-out 7 or 11 is a natural: Pass wins, Don't Pass loses.
CV1-RND-4|23|A box number sets the point, which must be repeated before a 7.
CV1-RND-5|23|Only a seven-out costs the shooter the dice; craps does not.
CV1-RND-6|25|The dealer turns the puck to on and places it on the point.
CV1-RND-7|25|A made point begins a new round with the same shooter; a seven-out passes the dice on.
CV1-RND-8|25-29|With a point on, 2, 3, 11 and 12 do not affect multi-roll bets (!V1-3).
CV1-RND-9|29|Every roll decides the one-roll bets.
CV1-BET-1|31|Pass and Don't Pass are bet without a point; Come and Don't Come are bet with one.
CV1-BET-2|31|All other bets may be made, and odds raised, at any time (!V1-2).
CV1-BET-3|31|All bets except Pass and Come may be reduced or taken down before they lose (!V1-4).
CV1-PASS-1|37|Each player may make one Pass bet per roll, within the table's limits.
CV1-PASS-2,3,4|39-43|Pass wins on 7 and 11, loses on 2, 3 and 12, and otherwise waits for the point or a 7.
CV1-PASS-5|45|Pass pays even money.
CV1-PASS-6|47|A Pass bet can't be changed until it is decided.
CV1-PASS-7|47|Pass is bet only before a come-out roll.
CV1-DP-1|51|Each player may make one Don't Pass bet per roll, within the table's limits.
CV1-DP-2,3,4,5|53-60|Don't Pass wins on 2 and 3, loses on 7 and 11, pushes on 12, and otherwise wins if a 7 is
  thrown before the point; it pays even money.
CV1-DP-6|62|With a point on, Don't Pass may be taken down or reduced, but not restored or raised. The odds may
  be restored or raised (line 31).
CV1-DP-7|62|The shooter may not reduce a Don't Pass bet.
CV1-DP-8|62|Don't Pass is off only if it is taken down.
CV1-DP-9|62|No odds may be laid behind a Don't Pass bet that was taken down.
CV1-DP-10|62|A remark on lay bets, which this product does not offer (!V1-5).
CV1-PO-1|66, 158|Odds behind Pass win with the point and pay 2 to 1, 3 to 2 or 6 to 5.
CV1-PO-2|47, 66|Pass odds may be called off, reduced, taken down, or raised up to the limit.
CV1-PO-3|66|Odds must be at least the table's minimum.
CV1-DPO-1|70, 159|Lay odds win on the 7 and pay 1 to 2, 2 to 3 or 5 to 6.
CV1-DPO-2|70|Lay odds win at most the table's multiple, which is not printed anywhere (!V1-16).
CV1-DPO-3|70|Lay odds may be as low as the table's minimum, even if they then win less than the minimum.
CV1-DPO-4|70|Lay odds may be called off, reduced or taken down.
CV1-DPO-5|70|Odds that are off are returned when the flat bet is decided.
CV1-COME-1|74|With a point on, each player may make one Come bet per roll.
CV1-COME-2|74|Come and Don't Come may both be bet on the same roll.
CV1-COME-3|74|Come is decided by the first roll, or moves to the box number, which becomes its point.
CV1-COME-4|74|A Come bet always works and stays up until it is decided.
CV1-COME-5|74|Come odds may be called off, reduced or taken down before they lose.
CV1-COME-6|76|Come odds that are off are returned when their flat bet is decided.
CV1-COME-7|78|Come pays even money, and its odds pay true odds.
CV1-COME-8|80|Come odds are off on a come-out roll, and are returned if a 7 takes the flat bet.
CV1-COME-9|82|A Come bet that is hit on the come-out is paid, and its odds are returned.
CV1-COME-10|82|Come odds that are called on are decided with their flat bet.
CV1-DC-1|86|With a point on, each player may make one Don't Come bet per roll.
CV1-DC-2|86|Don't Come is decided by the first roll, or moves behind its number.
CV1-DC-3|86, 90|Don't Come wins if a 7 is thrown before its number; it pays even money.
CV1-DC-4|88|The dealer places the lay odds on the bet.
CV1-DC-5|88|Lay odds on Don't Come pay true odds, without commission.
CV1-DC-6|88|A Don't Come bet with its number may be taken down; it may not be called off, raised or restored.
CV1-DC-7|88|No Action: a Don't Come bet is not moved to the number that was thrown (!V1-6).
CV1-DC-8|88|No odds may be laid on a Don't Come bet that was taken down; a new bet must wait for a later
  roll.
CV1-DC-9|88|Don't Come odds may be called off, reduced or taken down.
CV1-DC-10|90|Don't Come odds also work on the come-out, unless the player calls them off.
CV1-PLACE-1|94|A place bet is made by telling the dealer the number and the amount.
CV1-PLACE-2|94|A place bet wins each time its number is thrown before a 7, and stays up.
CV1-PLACE-3|94|Place bets are off on the come-out unless called on, and may be taken down before they lose.
CV1-PLACE-4|96|Place pays 9 to 5 on 4 and 10, 7 to 5 on 5 and 9, 7 to 6 on 6 and 8.
CV1-PLACE-5|96|Advice on which stakes are paid exactly (!V1-1).
CV1-PL-1|98|Place to lose wins on the 7 and pays 4 to 5 on 6 and 8, 5 to 8 on 5 and 9, 5 to 11 on 4 and 10.
CV1-BUY-1|102|Buy, lay and put bets are not accepted.
CV1-ONE-1|106|A one-roll bet works unless the player calls it off.
CV1-C2,C12|108-114, 160-165|2, or 12, on the next roll pays 30 to 1.
CV1-C3,YO|108-114, 160-165|3, or 11, on the next roll pays 15 to 1.
CV1-HILO-1|116, 166|2 or 12 on the next roll pays 15 to 1, as a single bet.
CV1-AC-1|118, 167|Any craps pays 7 to 1.
CV1-CE-1|120, 168|C and E is half craps and half eleven; it pays 3 to 1 on craps and 7 to 1 on eleven, each on
  the whole stake.
CV1-CE-2|120|If C and E is taken down after a win, the whole stake is returned.
CV1-CE-3|120|C and E must be at least two of the lowest units.
CV1-A7-1|122, 169|Any seven pays 4 to 1.
CV1-HORN-1|124, 171|Horn is one unit each on 2, 3, 11 and 12, and is taken down after a win.
CV1-WHIRL-1|126, 172|Whirl is a Horn and Any Seven; a 7 is a push.
CV1-WHIRL-2|126|Whirl must be at least five of the lowest units.
CV1-HOP-1|128|A hop bet names both faces of the next roll: it pays 15 to 1, or 30 to 1 for a pair.
CV1-FIELD-1|130, 170|The field wins on 2, 3, 4, 9, 10, 11 and 12, and pays double on 2 and 12.
CV1-FIELD-2|130-132|Players place their own field bets.
CV1-FIELD-3|132|A field bet rides with its winnings unless the player collects them (!V1-19).
CV1-SHARP-1|136|The Sharp Shooter is bet when a new shooter takes the dice.
CV1-SHARP-2|136|The Sharp Shooter pays by the number of points made in that shooter's hand, which begins
  with the first roll after a seven-out or after the dice were passed.
CV1-SHARP-3|141-151|The Sharp Shooter pays from 5 for three points to 300 for ten or more; with fewer
  points it loses.
CV1-TAB-1|173-174|A hard 4 or 10 pays 7 to 1, and a hard 6 or 8 pays 9 to 1.
CV1-TAB-2|175|Big 6 and Big 8 pay even money.
CV1-TAB-3|156-180|The list of odds and house edges as printed.
CV1-NOTE-1|182|A remark on a maximum total win, whose amount is left open (!V1-11).
CV1-NOTE-2|183|A remark on maximum inside bets, whose amount is left open (!V1-12).
"""


ROULETTE = """\
R-PLACE-1|9|Bets are roulette chips on the layout.
R-PLACE-2|11|Each player has chips of one colour, which differs from the colours of the value chips.
R-PLACE-3|13|Players are responsible for the position of their chips, even if someone else placed the chips.
R-PLACE-4|15|A bet counts for the spot on which it lies when the ball comes to rest.
R-LIM-1|17|Bets are one to ten dollars (!R-11).
R-BET-1|21|Straight: one number.
R-BET-2|22|Split: two numbers with a common line.
R-BET-2c|22|0 and 00 may also be split on the courtesy line between the second and third dozens.
R-BET-3|23|Three numbers: a row, bet on its outer line.
R-BET-3a|24|Three numbers: 0-1-2, 0-00-2 or 00-2-3.
R-BET-3b|25|Bets on 0-1-2, 0-00-2 and 00-2-3 are placed on the common corner of the boxes.
R-BET-4|26|Four numbers: bet at the corner that four boxes share.
R-BET-5|27|Five numbers: 0, 00, 1, 2 and 3, bet at the corner of the first dozen.
R-BET-6|28|Six numbers: two rows, bet at the outer corner between them.
R-BET-7|30|A column, bet at its foot.
R-BET-8|31|A dozen.
R-BET-9,10|32-33|Red, or black.
R-BET-11,12|34-35|Odd, or even.
R-BET-13,14|36-37|1 to 18, or 19 to 36.
R-PAY-1,2,3,4,5,6,7,8,9,10,11,12,13|41-54|The odds as printed, in thirteen rows (!R-1 states their errors).
R-SPIN-1|58|The ball must run in the opposite direction to the wheel.
R-SPIN-2|58|The ball must make at least four full turns of the track.
R-SPIN-3|59|No More Bets is called while the ball is still circling and slowing down.
R-SPIN-4|60|When the ball is at rest, the dealer calls its number and marks it.
R-SPIN-5|61|Losing bets are collected, then winners are paid.
R-IRR-1|65|No Spin if ball and wheel turn in the same direction; the ball is stopped if possible.
R-IRR-2|66|No Spin for fewer than four turns.
R-IRR-3|67|No Spin for a foreign object in the wheel, from the launch until the ball is at rest.
R-IRR-4|68|A bet after No More Bets is returned at once, and the spin remains valid.
"""


THREE_CARD = """\
T-DECK-1|11|One deck of 52 cards.
T-RANK-1|15-23|The hands rank straight flush, three of a kind, straight, flush, pair, then the highest cards.
T-RANK-2|23|Aces are high, except in 3-2-A.
T-ANTE-1|29|The ante is a bet against the dealer, who plays with a queen high or better.
T-ANTE-2|29, 78|After looking at the cards, a player folds, or makes a play bet equal to the ante.
T-RES-1|33-40|A fold loses the ante.
T-RES-2|34, 42-43|If the dealer does not play, the ante wins even money and the play is returned.
T-RES-3|35, 45-46|If the player's hand is higher, ante and play both win even money.
T-RES-4|36, 48-49|If the dealer's hand is higher, ante and play both lose (!T-3 for equal hands).
T-AB-1|51, 111-116|The ante bonus pays 1 to 1 for a straight, 3 to 1 for three of a kind, 4 to 1 for a
  straight flush and 5 to 1 for a mini royal, regardless of the dealer's hand.
T-PP-1|55-57|Pair Plus wins on a pair or better, regardless of the dealer's hand.
T-PP-2|103-110|Pair Plus pays 1 to 1 for a pair, 3 for a flush, 5 for a straight, 25 for three of a kind, 30
  for a straight flush and 40 for a mini royal.
T-BOTH-1|63|Ante and Pair Plus may differ in amount, each within its limits.
T-BOTH-2|63, 78|Without a play, both ante and Pair Plus are forfeited.
T-NOTE-1|65|Players may not make side bets with each other.
T-DEAL-1|69-72|A player bets the ante, Pair Plus or both (!T-2).
T-DEAL-1d|73|The house may let one player have two adjacent positions.
T-DEAL-2|74|No More Bets is called before any cards are dealt.
T-DEAL-2b|75|The dealer names the positions without Pair Plus.
T-DEAL-3|76|Three cards are dealt face down to each position, from the dealer's left; the bottom card is never
  seen.
T-DEAL-4|78|Each position plays or folds.
T-DEAL-5|79|Then the dealer collects the forfeited bets and the folded cards.
T-DEAL-6|80|The dealer arranges the hand from high to low and announces whether it plays.
T-DEAL-7|81|Hands are reconciled starting at the dealer's right; the house may change the order.
T-DEAL-8|82|The ante is mandatory (!T-2).
T-DEAL-9|83|No bet may exceed four dollars (!T-1).
T-IRR-1|87-88|An incorrect number of cards in any hand voids all hands; the deck is reshuffled.
T-PROB-1|92-101|The numbers of combinations and the chances, as printed (!T-10).
T-SIDE-1|120|A side bet on the best five of the player's three and the dealer's three cards.
T-SIDE-2|124-138|The side bet pays from 3 to 1 for three of a kind to 250 to 1 for a royal of six
  suited cards.
"""


HIGH_ROLLER = """\
H-EQ-1|9|Four to ten decks of 44 cards each, without aces and kings, or with cards numbered 2 to 12.
H-EQ-2|11|One dealer.
H-BET-1|13|A card costs one dollar, the same for every card.
H-BTN-1|15|Each player draws a face-up card for the button; the player with the button rolls first (!H-9).
H-BTN-2|15|The button buys first, in the buy-in and in the re-buy, then the other players clockwise.
H-BTN-3|52|The button moves clockwise from game to game.
H-START-1|17|A game needs at least two players with cards.
H-DEAL-1|17|The dealer pitches the purchased cards face up.
H-REBUY-1|17|After the first deal, further cards are bought one at a time.
H-CAP-1|17|A player may buy at most 150 cards per game (!H-8).
H-MONEY-1|19|A tenth is rake, up to two dollars go into the Bonus Pot, and the winner receives the remainder.
H-ROLL-1|21|The player with the button throws the elimination roll.
H-LEGAL-1|23|Both dice must hit a wall; any wall counts.
H-LEGAL-2|23|Both dice must stay on the playing surface.
H-LEGAL-3|23|The dice may touch no foreign object other than cards (!H-14).
H-LEGAL-4|23|An illegal roll is repeated by the same player.
H-MATCH-1|25-38|Players who have a card that matches the total stay in (!H-1).
H-ORDER-1|40-44|The roll-off begins with the player with the most matching cards, then the button, then
  clockwise (!H-4).
H-WIN-1|46|All remaining players roll, and the highest roll wins.
H-MULTI-1|48|A player may roll once for each matching card.
H-TIE-1|50|Players tied for the highest roll have another roll-off (!H-3).
H-BONUS-1|54|Winning three games in a row wins the Bonus Pot (!H-12).
H-CLOSE-1|56|The winner of the final game, begun within fifteen minutes of closing, wins the Bonus
  Pot (!H-10).
H-CLOSE-2|58|With fewer than two players at the end, the Bonus Pot is recorded as rake (!H-11).
"""


GAPS = """\
!X-1|several|The limits differ between the documents; they are settings of each table.
!X-2|several|The wall rules differ: an end wall, the far wall with warnings, or any wall.
!X-3|several|The objects that dice may touch differ: any chips except the bank's, or only cards.
!X-4|several|The two craps documents pay odds and place bets differently; each has a separate pay table.
!X-5|several|Only one of the craps documents allows the removal of a Pass bet without a point.
!X-6|several|The rolls that cost the shooter the dice differ between the documents (!34-15).
!X-7|several|Void and push on a come-out 12 have the same effect on the money.
!X-8|several|No document states a rule for rounding; payouts are rounded down to the cent.
!34-1|39, 47|Come and Don't Come are accepted only with a point on, before the dice leave the hand.
!34-2|116, 118|Odds on 6 and 8 at even money are less than true odds; they are paid as printed.
!34-3|117, 120|Lay odds of 3 to 4 favour the player on 5 and 9; they are paid as printed, with a warning.
!34-4|93-98|Place bets are paid as printed, which is less than the standard odds.
!34-5|106-108|Craps 2, 3 and 12 are offered as one-roll bets, because only the pay table mentions them.
!34-6|-|Whirl has no line in the pay table; it is paid as its five units.
!34-7|111|Horn High is paid as its five units, not as four.
!34-8|82|Buy bets are mentioned but not offered.
!34-9|78|The casino decides who places chips; this product enforces no rule.
!34-10|128-139|Invalid, No Roll, void and re-thrown are synonyms: the throw decides nothing, and bets stand.
!34-11|126, 133|A hit on either end counts, and a hit on the near end causes a notice; a setting requires the
  far end.
!34-12|135, 139|Dice that rest on the bank are a No Roll; contact with the bank causes only a notice.
!34-13|144|A cocked die is read only if a single face is possible; otherwise the boxperson decides.
!34-14|-|No Roll may be called until the throw is settled.
!34-15|151|Only a seven-out costs the shooter the dice; with a setting, any losing roll does, as in the
  document's wording.
!34-16|153|A run-out sets no point: each throw is a come-out roll.
!34-17|153|A run-out decides only Come and Don't Come bets.
!34-18|82|A bet that was called on stays on until it is called off or decided.
!34-19|79|Bets may be taken down until the dice leave the hand.
!34-20|81|The shooter may take down a Don't Pass bet; this causes a notice.
!34-21|-|Limits are not printed; they are settings.
!34-22|116-120|Odds are limited by the flat bet unless a setting says otherwise.
!34-23|-|A win decides a place or hard way bet, and the stake is returned.
!34-24|-|Typing errors in the document.
!34-25|67-73|Horn, C and E, Horn High and Whirl are refused if the stake is not a multiple of their units.
!34-26|82|Odds that are off are returned when their bet is decided.
!34-27|117, 120|Lay odds are limited by the original bet, even if that bet is reduced.
!V1-1|94-96|The examples exceed the table's limit; the limit applies.
!V1-2|31|Bets that other lines allow only at certain times may still be made only then.
!V1-3|25-29|A new Come bet is still decided by 2, 3, 11 and 12.
!V1-4|31, 62, 88|The specific rule on reducing a bet overrides the general one.
!V1-5|62, 88, 96|Lay, buy and put bets are mentioned but not offered.
!V1-6|88|A Don't Come bet with No Action is returned.
!V1-7|27, 88, 140|Scanning errors in the document.
!V1-8|136|The Sharp Shooter counts points until a seven-out.
!V1-9|141-151|The Sharp Shooter's odds are read as "to one".
!V1-10|136|The Sharp Shooter is decided at the seven-out, or earlier if the dice are passed.
!V1-11|182|There is no maximum total win unless one is configured.
!V1-12|183|There is no maximum for inside bets.
!V1-13|156-180|Bets that the list omits are offered, except place to lose.
!V1-14|98|Place to lose is not always the better bet, so this product makes no such claim.
!V1-15|66, 70|The minimum for odds applies to their stake, not to what they win.
!V1-16|70|There is no multiple for odds unless one is configured.
!V1-17|157|Don't bets bar the 12.
!V1-18|29, 106|A one-roll bet may be called off.
!V1-19|132|A field bet is for one roll unless the player lets it ride.
!V1-20|118|Three-Way is Any Craps.
!V1-21|124|Horn is made in multiples of four units.
!V1-22|120-126|A win decides a one-roll bet, and the stake is returned.
!V1-23|173-174|Hard ways are off on the come-out unless called on.
!V1-24|94, 98|Place to lose is off on the come-out unless called on.
!V1-25|21|Dice off the table, stacked or cocked are a No Roll, as in the other document.
!V1-26|21|A throw in which neither die hits the wall is a No Roll once the shooter has had every warning. A
  throw in which one die hits the wall counts, with a warning.
!V1-27|33|Limits apply to each bet on each roll.
!V1-28|156-180|The printed house edges are correct to the digits shown.
!V1-29|-|No bet is accepted once the dice have left the hand.
!V1-30|80|The statements about Come odds are consistent.
!R-1|41-54|The printed odds are the standard list without the 11 to 1 row; they are paid as printed, with a
  warning.
!R-2|37|19 to 36 has no printed odds; it is paid like 1 to 18.
!R-3|9, 11|Value chips are a setting of the house.
!R-4|15-32|Typing errors in the document.
!R-5|-|The colours and the order of the pockets are those of the standard wheel.
!R-6|-|0 and 00 lose all outside bets.
!R-7|65-66|After a No Spin nothing counts: bets stand or may be taken back.
!R-8|-|A person calls No Spin for a lost or stuck ball.
!R-9|59|No More Bets is called a set time before the predicted drop.
!R-10|58|Only turns that the ball provably made count.
!R-11|17|Limits apply to a player's total on each spot.
!R-12|68|No bet may be moved after No More Bets.
!R-13|22|Numbers whose boxes touch may be split.
!R-14|22|The courtesy line is for 0-00.
!T-1|83|The four-dollar limit is a setting.
!T-2|71, 82|The ante is mandatory, unless a setting says otherwise.
!T-3|34-49|Equal hands push.
!T-4|51|Only the highest row of the ante bonus is paid.
!T-5|103-116|A mini royal is a suited A-K-Q.
!T-6|51|A folded hand earns no bonus.
!T-7|79|The side bet stands after a fold, unless a setting says otherwise.
!T-8|120|The side bet does not require Pair Plus.
!T-9|124-138|The house keeps half of the side bet on average; the bet is paid as printed, with a warning.
!T-10|92-101|The printed chances are rounded.
!T-11|31-72|Typing errors in the document.
!T-12|76, 81|Cards are dealt from the left; hands are reconciled from the right.
!T-13|74|The first card closes the bets.
!T-14|88|An incorrect count voids the deal; a person enters a card that the shoe could not read.
!T-15|73|A player's two positions are two hands.
!T-16|81|The order of reconciliation does not change any amount.
!T-17|120, 138|Six suited cards from ace down to nine are paid only by their own row.
!H-1|25-38|If nobody matches the total, the same player throws again.
!H-2|46|The only player to match the total wins.
!H-3|50|Players with equal rolls each roll once more.
!H-4|40-44|The player with the most matching cards is first; on a tie, the button, then clockwise.
!H-5|19|The rake is a tenth of the gross.
!H-6|19|The Bonus Pot's share is the amount entered before the roll, or else the configured amount.
!H-7|19|The Bonus Pot's share is at most the gross less the rake.
!H-8|17|The number of cards in the shoe limits the cards sold, in addition to the limit for each player.
!H-9|15|The highest card wins the button; players with equal cards draw again.
!H-10|56|The first game begun within fifteen minutes of closing is the final game.
!H-11|58|The Bonus Pot becomes rake only if no final game could be played.
!H-12|54|A game's share goes into the Bonus Pot before the pot is paid.
!H-13|-|Typing errors in the document.
!H-14|23|A throw that touches loose chips goes to review.
!H-15|-|A throw with stacked or cocked dice is repeated.
!H-16|21|A player with the button throws even without cards.
!H-17|48|A roll may be skipped.
!H-18|13, 17|The price of a card is a setting, the same for every card.
!H-19|-|If a player leaves, the cards stay in play and the dealer rolls for them, or the game is void.
"""
_TEXTS = (CRAPS_12_034, CRAPS_V1, ROULETTE, THREE_CARD, HIGH_ROLLER, GAPS)
