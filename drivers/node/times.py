"""The times of the node link, in microseconds; NODE-LINK.md promises them."""

HELLO_EVERY_US = 250_000
HELLO_WITHIN_US = 1_800_000
SYNC_WITHIN_US = 1_500_000
SILENT_US = 1_500_000
"""A node beats at least every 500 ms; three beats missed are silence."""
PING_EVERY_US = 984_000
"""Off the beat of a second, so that questions do not keep step with anything else."""
PING_AGAIN_US = 100_000
DEAF_US = 1_900_000
"""From the last answer: the next question and nine more had none, so a node that speaks hears nothing."""
FIRST_PING_US = 20_000
FIRST_PINGS = 8
MAX_AGE_US = 2_000_000
AHEAD_US = 2_000
SLOW_US = 12_000.0
"""A question and its answer take 10 ms at 115,200 baud; an adapter that waits before it sends takes more."""
ASK_AGAIN_US = 15_000
GIVE_UP_US = 60_000
"""Half the watermark that verdicts wait for: what comes again by then still counts."""

ANNOUNCE_US = 1_000_000
BEAT_US = 500_000
TRAIL_US = 20_000
"""A beat follows the last reading this soon, so that its loss is noticed soon."""
