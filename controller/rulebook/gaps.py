"""What the documents leave open or contradict, and what the product does there: id, lines, meaning."""

TEXT = """\
!X-1|several|The documents' limits differ; they are settings of each table.
!X-2|several|The documents' wall rules differ: an end, the far wall with warnings, any wall.
!X-3|several|What dice may touch differs: any chips but the bank's, or nothing but cards.
!X-4|several|The two craps documents pay odds and place bets differently; each has a pay table of its own.
!X-5|several|A Pass bet without a point may be removed in one document and not in the other.
!X-6|several|What costs the shooter the dice differs (!34-15).
!X-7|several|Void and push on a come-out 12 are the same money.
!X-8|several|No document says how to round: pay-outs are rounded down to the cent.
!34-1|39, 47|Come and Don't Come: taken only with a point on, before the dice leave the hand.
!34-2|116, 118|Odds on 6 and 8 at even money are not fair; they are paid as printed.
!34-3|117, 120|Lay odds of 3 to 4 favour the player on 5 and 9; they are paid as printed, with a warning.
!34-4|93-98|Place bets are paid as printed, below the usual.
!34-5|106-108|Craps 2, 3 and 12 are offered as bets of one roll, by their pay table alone.
!34-6|-|Whirl has no pay line: it is paid by its five units.
!34-7|111|Horn High is paid by its five units, not four.
!34-8|82|Buy bets are named and not offered.
!34-9|78|Who places which chips is left to the casino; it is not enforced.
!34-10|128-139|Invalid, No Roll, void and re-thrown are one thing: nothing is decided and bets stand.
!34-11|126, 133|Any end counts, a near one is noted; a setting asks for the far end.
!34-12|135, 139|Dice that rest on the bank are a No Roll; touching it alone is noted.
!34-13|144|A cocked die's face is read only where one answer is left, else the boxperson decides.
!34-14|-|A No Roll is taken until the throw is settled.
!34-15|151|Only a seven-out costs the dice; a setting follows the letter, where any loser does.
!34-16|153|A run-out sets no point: each throw is a come-out roll.
!34-17|153|A run-out is for Come and Don't Come bets alone.
!34-18|82|A bet that was called on stays on until it is called off or decided.
!34-19|79|Bets come down until the dice leave the hand.
!34-20|81|The shooter may take down a Don't Pass; it is noted.
!34-21|-|There are no printed limits: they are settings.
!34-22|116-120|Odds are limited by the flat bet unless a setting says otherwise.
!34-23|-|A place or hard way bet is decided by a win, and the stake goes back.
!34-24|-|Typing errors in the document.
!34-25|67-73|Horn, C and E, Horn High and Whirl are refused where their units do not fit.
!34-26|82|Odds that are off go back when their bet is decided.
!34-27|117, 120|Lay odds are measured by what was first bet, however it is lowered.
!V1-1|94-96|Examples above the table's own limit: the limit holds.
!V1-2|31|Bets with their own times keep them.
!V1-3|25-29|A fresh Come bet is decided by 2, 3, 11 and 12 all the same.
!V1-4|31, 62, 88|The special rule on reducing a bet overrides the general one.
!V1-5|62, 88, 96|Lay, buy and put bets are named and not offered.
!V1-6|88|A Don't Come without action goes back.
!V1-7|27, 88, 140|Scanning errors in the document.
!V1-8|136|The Sharp Shooter counts points until a seven-out.
!V1-9|141-151|Its pay is to one.
!V1-10|136|It is decided at the seven-out, or by the points made where the dice are passed.
!V1-11|182|No maximum total win unless configured.
!V1-12|183|No greatest inside bets.
!V1-13|156-180|Bets that the list leaves out are offered; place to lose is not offered.
!V1-14|98|Place to lose is not always the better bet: nothing is claimed.
!V1-15|66, 70|The minimum for odds applies to their stake, not to what they win.
!V1-16|70|No multiple of odds unless a setting names one.
!V1-17|157|Don't bets bar the 12.
!V1-18|29, 106|A bet of one roll may be called off.
!V1-19|132|A field bet is for one roll unless the player lets it ride.
!V1-20|118|Three-Way is Any Craps.
!V1-21|124|Horn is made in fours.
!V1-22|120-126|A bet of one roll is decided by a win, and the stake goes back.
!V1-23|173-174|Hard ways rest on the come-out unless called on.
!V1-24|94, 98|Place to lose rests on the come-out unless called on.
!V1-25|21|Dice off the table, stacked or cocked are a No Roll, as in the other document.
!V1-26|21|No hit is a No Roll after the warnings; one die's hit stands with a warning.
!V1-27|33|Limits are per bet and roll.
!V1-28|156-180|The printed house edges are right to their digits.
!V1-29|-|No bet is taken once the dice left the hand.
!V1-30|80|The statements about Come odds are consistent.
!R-1|41-54|The printed odds are the usual list with 11 to 1 lost: paid as printed, with a warning.
!R-2|37|19 to 36 has no odds: paid as 1 to 18.
!R-3|9, 11|Value chips are a setting of the house.
!R-4|15-32|Typing errors in the document.
!R-5|-|Colours and pocket order are those of the usual wheel.
!R-6|-|0 and 00 lose all outside bets.
!R-7|65-66|After a No Spin nothing counts, bets stand or may be taken back.
!R-8|-|A lost or stuck ball is called No Spin by a person.
!R-9|59|No More Bets comes a set time before the predicted drop.
!R-10|58|Turns are those that the ball provably ran.
!R-11|17|Limits are per player and spot.
!R-12|68|The layout stands still from No More Bets on.
!R-13|22|Numbers whose boxes touch may be split.
!R-14|22|The courtesy line is 0-00.
!T-1|83|The four dollar limit is a setting.
!T-2|71, 82|The ante must be made, unless a setting says otherwise.
!T-3|34-49|Equal hands push.
!T-4|51|The ante bonus is the highest row alone.
!T-5|103-116|A mini royal is a suited A-K-Q.
!T-6|51|A folded hand has no bonus.
!T-7|79|The side bet stands after a fold, unless a setting says otherwise.
!T-8|120|The side bet needs no Pair Plus.
!T-9|124-138|The side bet keeps half of what is bet: paid as printed, with a warning.
!T-10|92-101|The printed chances are rounded.
!T-11|31-72|Typing errors in the document.
!T-12|76, 81|Cards go out from the left, hands are reconciled from the right.
!T-13|74|The first card closes the bets.
!T-14|88|A wrong count voids the deal; a card that can't be read is entered by a person.
!T-15|73|Two positions of a player are two hands.
!T-16|81|The order of reconciling changes no amount.
!T-17|120, 138|Six suited cards are paid as that alone.
!H-1|25-38|Where nobody matches the same player throws again.
!H-2|46|A player who is the only one to match has won.
!H-3|50|Equals roll once each.
!H-4|40-44|Most matching cards first, among equals the button, then clockwise.
!H-5|19|The rake is a tenth of the gross.
!H-6|19|The Bonus Pot's share is entered before the roll, else as set.
!H-7|19|The share is at most what the rake leaves.
!H-8|17|The shoe limits what is sold, beside the players' own limit.
!H-9|15|The highest card has the button; equals draw again.
!H-10|56|The first game from fifteen minutes before closing is the final one.
!H-11|58|The Pot is rake only where no final game could be played.
!H-12|54|A game's own share joins the Pot before it is paid.
!H-13|-|Typing errors in the document.
!H-14|23|Loose chips that are touched go to a person.
!H-15|-|Stacked or cocked dice are thrown again.
!H-16|21|A button without cards throws all the same.
!H-17|48|A roll may be left out.
!H-18|13, 17|The price of a card is a setting, one for all.
!H-19|-|The cards of a player who leaves stay in and the dealer rolls for them, or the game is void.
"""
