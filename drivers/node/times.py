"""The times of the node link, in microseconds; NODE-LINK.md promises them."""

HELLO_EVERY_US = 250_000
HELLO_WITHIN_US = 1_800_000
SYNC_WITHIN_US = 1_500_000
SILENT_US = 1_500_000
"""A node beats at least every 500 ms; after three missed beats it counts as silent."""
PING_EVERY_US = 984_000
"""Not a multiple of a second, so that pings do not synchronise with anything else."""
PING_AGAIN_US = 100_000
DEAF_US = 1_900_000
"""From the last answer: a ping and nine retries went unanswered, so a node that still talks can't hear us."""
FIRST_PING_US = 20_000
FIRST_PINGS = 8
MAX_AGE_US = 2_000_000
AHEAD_US = 2_000
SLOW_US = 12_000.0
"""A ping and its answer take 10 ms at 115,200 baud; an adapter that buffers before it sends takes longer."""
ASK_AGAIN_US = 15_000
GIVE_UP_US = 60_000
"""Half the watermark that verdicts wait for: a reading repeated by then still counts."""

ANNOUNCE_US = 1_000_000
BEAT_US = 500_000
TRAIL_US = 20_000
"""A beat follows the last reading this soon, so that the loss of that reading is noticed soon."""
