"""The rules of Craps 12 034, in our own words: ids, lines of the document, sense."""

TEXT = """\
C34-DEF-1|15|The come-out point is the box number (4, 5, 6, 8, 9, 10) that a come-out roll sets.
C34-DEF-2|16|A come-out roll is the opening roll, and each first roll after Pass and Don't Pass were
  decided.
C34-DEF-3|17|Each Come or Don't Come bet has a point of its own: the box number of the roll after it was
  made.
C34-PASS-1|23|Pass is bet on its line, just before a come-out roll.
C34-PASS-2|24-25|Pass wins at once on a come-out 7 or 11.
C34-PASS-3|26|Pass wins where the point comes again before a 7.
C34-PASS-4|27-28|Pass loses at once on a come-out 2, 3 or 12.
C34-PASS-5|30|Pass loses where a 7 comes before the point.
C34-DP-1|31|Don't Pass is bet on its line, just before a come-out roll.
C34-DP-2|33|Don't Pass wins at once on a come-out 2 or 3.
C34-DP-3|34|Don't Pass wins where a 7 comes before the point.
C34-DP-4|36|Don't Pass loses at once on a come-out 7 or 11.
C34-DP-5|37|Don't Pass loses where the point comes again before a 7.
C34-DP-6|38|A come-out 12 decides no Don't Pass: the stake goes back.
C34-COME-1|39|Come is bet after the come-out roll; see !34-1 for when exactly.
C34-COME-2|41|Come wins on a 7 or 11 with the next roll.
C34-COME-3|42|Come wins where its own point comes again before a 7.
C34-COME-4|45|Come loses on a 2, 3 or 12 with the next roll.
C34-COME-5|46|Come loses where a 7 comes before its own point.
C34-DC-1|47|Don't Come is bet when Come is.
C34-DC-2,3,4,5,6|48-54|Don't Come is decided as Don't Pass is, from the roll after it was made: 2 and 3
  win, 7 and 11 lose, 12 is void, then 7 or its point.
C34-PLACE-1|55|A place bet on a box number wins where that comes before a 7, whenever it was made.
C34-PLACE-2|55|Place bets rest on come-out rolls unless the player calls them on and the dealer marks that
  with a button.
C34-HARD-4,6,8,10|56-62|A hard way wins where its pair comes before a 7 and before the same total thrown
  otherwise.
C34-FIELD-1|63|The field is decided by one roll: 2, 3, 4, 9, 10, 11 and 12 win.
C34-A7-1|64|Any Seven wins on a 7 with the next roll.
C34-AC-1|65|Any Craps wins on a 2, 3 or 12 with the next roll.
C34-YO-1|66|Eleven in one roll wins on an 11 with the next roll.
C34-CE-1|67-69|Craps-Eleven wins on a 2, 3, 11 or 12 with the next roll.
C34-HORN-1|71|Horn wins on a 2, 3, 11 or 12 with the next roll.
C34-HH-1|72|Horn High is a Horn with one of its numbers doubled.
C34-HH-2|72|Horn High is made in units of five: a Horn of four, and one more on one of its numbers.
C34-WHIRL-1|73|Whirl, or World, is a Horn and Any Seven in one.
C34-WHIRL-2|73|Whirl is made in units of five: one on each of 2, 3, 11, 12 and on Any Seven.
C34-C2-1|106|Craps 2 is priced in the pay table and described nowhere (!34-5).
C34-C3-1|107|Craps 3 is priced in the pay table and described nowhere (!34-5).
C34-C12-1|108|Craps 12 is priced in the pay table and described nowhere (!34-5).
C34-MK-1a|77|Bets should lie before the dice are thrown.
C34-MK-1b|77|A bet made while the dice roll stands only where a dealer and a boxperson both confirm it
  aloud.
C34-MK-2a|78|Bets are chips on the layout.
C34-MK-2b|78|A spoken bet with cash is taken where the dealer confirms it and the cash becomes chips at
  once.
C34-MK-3a|79|A bet may be taken down or lowered before the roll that decides it.
C34-MK-3b|79|A Pass bet with a point, and a Come bet with its own, stay until they are decided.
C34-MK-4|81|A lowered Don't bet is neither raised nor replaced before what it stood for is decided.
C34-MK-5a|82|Place bets, come odds and hard ways rest on come-out rolls unless they are called on.
C34-MK-5b|82|All other bets always work.
C34-PAY-1,2,3,4|89-92|Pass, Don't Pass, Come and Don't Come pay even money.
C34-PAY-5,10|93, 98|Place on 4 and 10 pays 7 to 4.
C34-PAY-6,9|94, 97|Place on 5 and 9 pays 5 to 4.
C34-PAY-7,8|95-96|Place on 6 and 8 pays even money.
C34-PAY-11,14|99, 102|Hard 4 and hard 10 pay 7 to 1.
C34-PAY-12,13|100-101|Hard 6 and hard 8 pay 9 to 1.
C34-PAY-15|103|The field pays even money, 2 to 1 on 2 and on 12.
C34-PAY-16|104|Any Seven pays 4 to 1.
C34-PAY-17|105|Any Craps pays 7 to 1.
C34-PAY-18,20|106, 108|Craps 2 and Craps 12 pay 30 to 1.
C34-PAY-19|107|Craps 3 pays 15 to 1.
C34-PAY-21|109|Eleven in one roll pays 15 to 1.
C34-PAY-22|111|Horn and Horn High are paid as the separate bets on 2, 3, 11 and 12 that they are made of.
C34-PAY-23|112|Craps-Eleven is paid as half a bet on Any Craps and half a bet on eleven.
C34-PAY-24|-|Whirl has no line in the pay table; it is paid by its five parts (!34-6).
C34-ODDS-1|116|Pass with a point takes odds up to its own amount: 2 to 1 on 4 and 10, 3 to 2 on 5 and 9,
  even money on 6 and 8.
C34-ODDS-2|117|Don't Pass with a point lays odds that win at most what was first bet: 1 to 2 on 4 and 10,
  3 to 4 on the others.
C34-ODDS-3|118|Come with its point takes odds as Pass does.
C34-ODDS-4|120|Don't Come with its point lays odds as Don't Pass does.
C34-DICE-1|124|At the start the dice are offered from the boxperson's left on, clockwise.
C34-DICE-2|125|Whoever accepts first shoots, and keeps two dice; the others go back into the cup.
C34-DICE-3|154|A set has five dice or more.
C34-DICE-4|126|The shooter bets on Pass or Don't Pass before throwing.
C34-DICE-5|126|Both dice leave the hand together, towards the end that is farthest from the shooter.
C34-INV-1a|130|A die that leaves the table makes the throw void by itself.
C34-INV-1b|130|A die that rests on the other makes the throw void by itself.
C34-INV-2i|132|No Roll where the dice do not leave the hand at one time.
C34-INV-2ii|133|No Roll where a die hits no end of the table.
C34-INV-2iii|135|No Roll where a die rests on the bank's chips before the boxperson.
C34-INV-2iv|136|No Roll where a die rests in the cup or on a rail.
C34-INV-2v|137|No Roll for cheating, or for a device or technique that fixes the throw.
C34-INV-2vi|138|No Roll for whatever else the boxperson finds improper.
C34-INV-3|139|Touching chips that are not the bank's makes no throw void.
C34-PT-1|143|A valid throw at rest is called at once by the stickperson, by the one face of each die that
  is up.
C34-PT-1i|144|Of a die that leans on chips or an object, the face opposite the side that rests is up.
C34-PT-2|144|A die of which more than one side rests on a stack or object makes the throw void.
C34-PT-3|145|The boxperson decides a face that is disputed, or has the dice thrown again.
C34-PT-4|146|After the call the stickperson brings the dice to the middle of the table.
C34-PT-5|146|All that a throw decided is settled before the dice go out again.
C34-PT-6|146|The dice are moved with the stick.
C34-CONT-1|150|After any roll the shooter may go on or pass the dice, but for what follows.
C34-CONT-1i|151|The shooter passes the dice after throwing a loser (!34-15 for which).
C34-CONT-1ii|152|The boxperson may have the dice passed for delay, for repeated invalid rolls or for
  breaking the rules.
C34-CONT-2a|153|A shooter who made the point and bets on no line again has the dice offered on, while Come
  bets are up.
C34-CONT-2b|153|Where nobody takes them the old shooter throws without a line bet, only to decide those
  bets: a run-out.
C34-CONT-2c|153|In a run-out the marker lies off on the Don't Pass line before that shooter.
C34-CONT-3|154|A new shooter is offered the full set, on to the left.
C34-CONT-4|155|Whoever accepts first is the new shooter and takes two dice.
"""
