"""The rules of roulette, in our own words: ids, lines of the document, sense."""

TEXT = """\
R-PLACE-1|9|Bets are roulette chips on the layout.
R-PLACE-2|11|A colour of chips is one player's, and looks like no value chip.
R-PLACE-3|13|A player answers for where the chips lie, whoever set them.
R-PLACE-4|15|A bet counts where it lies when the ball comes to rest.
R-LIM-1|17|One to ten dollars a bet (!R-11).
R-BET-1|21|Straight: one number.
R-BET-2|22|Split: two numbers with a common line.
R-BET-2c|22|0 and 00 may also be split on the courtesy line between the second and third dozen.
R-BET-3|23|Three numbers: a row, bet on its outer line.
R-BET-3a|24|Also three numbers: 0-1-2, 0-00-2 and 00-2-3.
R-BET-3b|25|These lie on the common corner of their boxes.
R-BET-4|26|Four numbers: the corner that four boxes share.
R-BET-5|27|Five numbers: 0, 00, 1, 2 and 3, at the corner of the first dozen.
R-BET-6|28|Six numbers: two rows, bet on their outer corner.
R-BET-7|30|A column, bet at its foot.
R-BET-8|31|A dozen.
R-BET-9,10|32-33|Red, or black.
R-BET-11,12|34-35|Odd, or even.
R-BET-13,14|36-37|1 to 18, or 19 to 36.
R-PAY-1,2,3,4,5,6,7,8,9,10,11,12,13|41-54|The odds as they are printed, in thirteen rows (!R-1 on what is
  wrong with them).
R-SPIN-1|58|The ball runs against the wheel.
R-SPIN-2|58|The ball makes four full turns of the track or more.
R-SPIN-3|59|No More Bets is called while the ball still circles and slows.
R-SPIN-4|60|The dealer calls the number of the ball at rest, and marks it.
R-SPIN-5|61|Losers are collected, then winners are paid.
R-IRR-1|65|No Spin where ball and wheel turn the same way; the ball is stopped if it can be.
R-IRR-2|66|No Spin for fewer than four turns.
R-IRR-3|67|No Spin for a foreign object in the wheel, from the launch until the ball rests.
R-IRR-4|68|A bet after No More Bets goes back at once, and the spin stands.
"""
