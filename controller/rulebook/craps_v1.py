"""The rules of Craps Version 1, in our own words: ids, lines of the document, sense."""

TEXT = """\
CV1-OBJ-1|9|Two dice, players against the house, by pay tables that hang at the table.
CV1-LIM-1|13|One to ten dollars a bet; what a player has on one spot counts as one bet.
CV1-LIM-2|33|No bet on a roll above what the state allows.
CV1-LIM-3|17|The house chooses its bets by the pay table that it posts, and pays by that.
CV1-SHOOT-1|19|The shooter has a bet on Pass or Don't Pass.
CV1-SHOOT-2|21, 25|The dice pass clockwise.
CV1-SHOOT-3|21|The dice are thrown to the far back wall, and as a rule both must hit it.
CV1-SHOOT-4|21|A supervisor may warn a few times first, and lets it pass where one die hit.
CV1-INV-1|21|Both dice go in one throw, from one hand.
CV1-INV-2|21|One die alone is no roll.
CV1-INV-3|21|What a dealer or supervisor declares no roll is none, and is thrown again.
CV1-RND-1|21|A round is its come-out rolls and then the throws for the point.
CV1-RND-2|23|A come-out 2, 3 or 12 is craps: Pass loses, Don't Pass wins on 2 and 3 and ties on 12.
CV1-RND-3|23|A come-out 7 or 11 is a natural: Pass wins, Don't Pass loses.
CV1-RND-4|23|A box number sets the point, which must come again before a 7.
CV1-RND-5|23|Only a seven-out costs the shooter the dice; craps does not.
CV1-RND-6|25|The dealer turns the button on and lays it on the point.
CV1-RND-7|25|A made point begins a new round with the same shooter; a seven-out passes the dice on.
CV1-RND-8|25-29|With a point on, 2, 3, 11 and 12 leave bets of several rolls alone (!V1-3).
CV1-RND-9|29|Bets of one roll are decided by every roll.
CV1-BET-1|31|Pass and Don't Pass are bet without a point, Come and Don't Come with one.
CV1-BET-2|31|All other bets may be made, and odds raised, at any time (!V1-2).
CV1-BET-3|31|All bets but Pass and Come may be lowered or taken down before they lose (!V1-4).
CV1-PASS-1|37|Pass is bet within the table's limits, one bet a player and roll.
CV1-PASS-2,3,4|39-43|Pass wins on 7 and 11, loses on 2, 3 and 12, else waits for the point or a 7.
CV1-PASS-5|45|Pass pays even money.
CV1-PASS-6|47|A Pass bet stays as it is until it is decided.
CV1-PASS-7|47|Pass is bet before a come-out roll alone.
CV1-DP-1|51|Don't Pass is bet within the table's limits, one bet a player and roll.
CV1-DP-2,3,4,5|53-60|Don't Pass wins on 2 and 3, loses on 7 and 11, pushes on 12, else wins on the 7
  before the point; even money.
CV1-DP-6|62|With a point the Don't Pass bet may come down, and never go up again; its odds may do both (31).
CV1-DP-7|62|The shooter does not lower a Don't Pass.
CV1-DP-8|62|Don't Pass is off only where it is taken down.
CV1-DP-9|62|Nobody lays odds behind a Don't Pass that was taken down.
CV1-DP-10|62|A remark on lay bets that this rule set does not offer (!V1-5).
CV1-PO-1|66, 158|Odds behind Pass win with the point: 2 to 1, 3 to 2, 6 to 5.
CV1-PO-2|47, 66|Pass odds may be off, lowered, taken down, or raised to the limit.
CV1-PO-3|66|Odds are at least the table's minimum.
CV1-DPO-1|70, 159|Lay odds win on the 7: 1 to 2, 2 to 3, 5 to 6.
CV1-DPO-2|70|Lay odds win at most the table's multiple, which is printed nowhere (!V1-16).
CV1-DPO-3|70|Lay odds may be the minimum though they then win less.
CV1-DPO-4|70|Lay odds may be off, lowered or taken down.
CV1-DPO-5|70|Odds that are off go back when the flat bet is decided.
CV1-COME-1|74|One Come bet a player and roll, with a point on.
CV1-COME-2|74|Come and Don't Come may be bet on one roll.
CV1-COME-3|74|Come is decided by the first roll, or goes to the box number as its own point.
CV1-COME-4|74|A Come bet always works and stays until it is decided.
CV1-COME-5|74|Come odds may be off, lowered or taken down before they lose.
CV1-COME-6|76|Come odds that are off go back when their flat bet is decided.
CV1-COME-7|78|Come pays even money and its odds the true odds.
CV1-COME-8|80|Come odds rest on a come-out roll, and go back where a 7 takes the flat bet.
CV1-COME-9|82|A Come bet that is hit on the come-out is paid, and its odds go back.
CV1-COME-10|82|Called on, come odds are decided with their flat bet.
CV1-DC-1|86|One Don't Come bet a player and roll, with a point on.
CV1-DC-2|86|Don't Come is decided by the first roll, or goes behind its number.
CV1-DC-3|86, 90|Don't Come wins on the 7 before its number; even money.
CV1-DC-4|88|The dealer sets the lay odds on the bet.
CV1-DC-5|88|Lay odds on Don't Come pay the true odds, without commission.
CV1-DC-6|88|A Don't Come with its number may come down; it is never off, raised or restored.
CV1-DC-7|88|No Action: a Don't Come is not moved to the number that came (!V1-6).
CV1-DC-8|88|A Don't Come that was taken down gets no odds; a new one waits for a later roll.
CV1-DC-9|88|Its odds may be off, lowered or taken down.
CV1-DC-10|90|Its odds work on the come-out too, unless the player says otherwise.
CV1-PLACE-1|94|A place bet is made by telling the dealer number and amount.
CV1-PLACE-2|94|A place bet wins whenever its number comes before a 7, and stays up.
CV1-PLACE-3|94|Place bets rest on the come-out unless called on, and may come down before they lose.
CV1-PLACE-4|96|Place pays 9 to 5 on 4 and 10, 7 to 5 on 5 and 9, 7 to 6 on 6 and 8.
CV1-PLACE-5|96|Advice on stakes that are paid exactly (!V1-1).
CV1-PL-1|98|Place to lose wins on the 7: 4 to 5 on 6 and 8, 5 to 8 on 5 and 9, 5 to 11 on 4 and 10.
CV1-BUY-1|102|Buy, lay and put bets are not taken.
CV1-ONE-1|106|A bet of one roll works unless the player says otherwise.
CV1-C2,C12|108-114, 160-165|2, or 12, with the next roll pays 30 to 1.
CV1-C3,YO|108-114, 160-165|3, or 11, with the next roll pays 15 to 1.
CV1-HILO-1|116, 166|2 or 12 with the next roll pays 15 to 1, as one bet.
CV1-AC-1|118, 167|Any craps pays 7 to 1.
CV1-CE-1|120, 168|C and E is half craps, half eleven: 3 to 1 and 7 to 1 over the whole.
CV1-CE-2|120|Taken down after a win, all of it goes back.
CV1-CE-3|120|C and E is at least two of the lowest units.
CV1-A7-1|122, 169|Any seven pays 4 to 1.
CV1-HORN-1|124, 171|Horn is a unit on each of 2, 3, 11 and 12, and comes down after a win.
CV1-WHIRL-1|126, 172|Whirl is a Horn and any seven; a 7 is a push.
CV1-WHIRL-2|126|Whirl is at least five of the lowest units.
CV1-HOP-1|128|A hop names both faces of the next roll: 15 to 1, a pair 30 to 1.
CV1-FIELD-1|130, 170|The field wins on 2, 3, 4, 9, 10, 11 and 12, double on 2 and 12.
CV1-FIELD-2|130-132|Players set their own field bets.
CV1-FIELD-3|132|A field bet rides with its winnings unless they are collected (!V1-19).
CV1-SHARP-1|136|The Sharp Shooter is bet as a new shooter takes the dice.
CV1-SHARP-2|136|It pays by the points of that shooter's hand, from the first roll after a seven-out or a
  pass on.
CV1-SHARP-3|141-151|From three points (5) to ten or more (300); fewer lose.
CV1-TAB-1|173-174|Hard 4 and 10 pay 7 to 1, hard 6 and 8 pay 9 to 1.
CV1-TAB-2|175|Big 6 and Big 8 pay even money.
CV1-TAB-3|156-180|The list of odds and house edges as printed.
CV1-NOTE-1|182|A remark on a greatest total win, left open (!V1-11).
CV1-NOTE-2|183|A remark on greatest inside bets, left open (!V1-12).
"""
