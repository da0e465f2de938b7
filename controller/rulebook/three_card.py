"""The rules of Three Card Poker 12 014, in our own words: ids, lines of the document, sense."""

TEXT = """\
T-DECK-1|11|One deck of 52 cards.
T-RANK-1|15-23|Straight flush, three of a kind, straight, flush, pair, then the highest cards.
T-RANK-2|23|Aces are high, but for 3-2-A.
T-ANTE-1|29|The ante plays against the dealer, who plays with a queen high or better.
T-ANTE-2|29, 78|A player who has looked folds, or bets the ante once more as the play.
T-RES-1|33-40|A fold loses the ante.
T-RES-2|34, 42-43|Where the dealer does not play, the ante wins even money and the play goes back.
T-RES-3|35, 45-46|Where the player is higher, ante and play both win even money.
T-RES-4|36, 48-49|Where the dealer is higher, both lose (!T-3 for equal hands).
T-AB-1|51, 111-116|The ante bonus: straight 1, three of a kind 3, straight flush 4, mini royal 5 to 1,
  whatever the dealer has.
T-PP-1|55-57|Pair Plus wins on a pair or better, whatever the dealer has.
T-PP-2|103-110|Pair 1, flush 3, straight 5, three of a kind 25, straight flush 30, mini royal 40 to 1.
T-BOTH-1|63|Ante and Pair Plus may differ, each within the limits.
T-BOTH-2|63, 78|Without a play both ante and Pair Plus are forfeit.
T-NOTE-1|65|Players make no side bets among themselves.
T-DEAL-1|69-72|A player bets ante, Pair Plus or both (!T-2).
T-DEAL-1d|73|A house may let one player have two adjacent positions.
T-DEAL-2|74|No more bets is called before any cards are given out.
T-DEAL-2b|75|The dealer names the positions without Pair Plus.
T-DEAL-3|76|Three cards face down a position, from the dealer's left; the bottom card is never seen.
T-DEAL-4|78|Each position plays or folds.
T-DEAL-5|79|Then forfeit bets and cards are collected.
T-DEAL-6|80|The dealer lays the hand from high to low and says whether it plays.
T-DEAL-7|81|Hands are reconciled from the dealer's right; the house may change the order.
T-DEAL-8|82|The ante must be made (!T-2).
T-DEAL-9|83|No bet above four dollars (!T-1).
T-IRR-1|87-88|A wrong number of cards anywhere voids all hands; the deck is shuffled again.
T-PROB-1|92-101|Combinations and chances as printed (!T-10).
T-SIDE-1|120|A side bet on the best five of the player's three and the dealer's three cards.
T-SIDE-2|124-138|From three of a kind (3 to 1) to a royal of six suited cards (250 to 1).
"""
