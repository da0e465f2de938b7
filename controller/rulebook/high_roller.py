"""The rules of High Roller 12 005, in our own words: ids, lines of the document, sense."""

TEXT = """\
H-EQ-1|9|Four to ten decks without aces and kings, or numbered 2 to 12: 44 cards each.
H-EQ-2|11|One dealer.
H-BET-1|13|A card costs one dollar, the same for all.
H-BTN-1|15|Everybody draws a card face up for the button, who rolls first (!H-9).
H-BTN-2|15|The button buys first, in the buy-in and in the re-buy, then the others clockwise.
H-BTN-3|52|The button moves on clockwise from game to game.
H-START-1|17|A game needs two players with cards.
H-DEAL-1|17|The dealer pitches bought cards face up.
H-REBUY-1|17|After the first deal further cards are bought, one at a time.
H-CAP-1|17|At most 150 cards a player and game (!H-8).
H-MONEY-1|19|A tenth is rake, up to two dollars go to the Bonus Pot, the winner gets the rest.
H-ROLL-1|21|The button throws the elimination roll.
H-LEGAL-1|23|Both dice hit a wall, any wall.
H-LEGAL-2|23|Both dice stay on the playing surface.
H-LEGAL-3|23|Dice touch nothing foreign but cards (!H-14).
H-LEGAL-4|23|An illegal roll is thrown again by the same player.
H-MATCH-1|25-38|Whoever has a card of the total stays in (!H-1).
H-ORDER-1|40-44|The roll-off begins with the most matching cards, then the button, then clockwise (!H-4).
H-WIN-1|46|All who are left roll; the highest wins.
H-MULTI-1|48|A player may roll once for each matching card.
H-TIE-1|50|Equal highest rolls are rolled off (!H-3).
H-BONUS-1|54|Three games in a row win the Bonus Pot (!H-12).
H-CLOSE-1|56|The final game, from fifteen minutes before closing, wins the Bonus Pot (!H-10).
H-CLOSE-2|58|With fewer than two players at the end the Pot is recorded as rake (!H-11).
"""
