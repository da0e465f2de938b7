"""The catalogue of refusals: a stable code, what it means, and what to do next.

A refusal changes nothing; it is published as `input.refused` with its code as the cause.
"""

REFUSALS: dict[str, str] = {
    "already_closed": "the table is closed already; nothing to do",
    "already_cleared": "this attempt was cleared away already; nothing to do",
    "already_locked": "the table is locked already; unlock it when the cause is mended",
    "already_open": "the table is open already; nothing to do",
    "already_settled": "nothing changes an outcome that is settled; handle it as a dispute",
    "already_testing": "test mode is on already; switch it off when done",
    "already_void": "this attempt is void already; nothing to do, or set the result if it should count",
    "attempt_open": "an attempt is not decided yet; wait for the call or rule on it first",
    "bad_argument": "the input's argument is missing or makes no sense; enter it again",
    "bets_closed": "bets are closed already; nothing to do",
    "bets_open": "bets are open already; nothing to do",
    "impossible_call": "this call does not exist in this phase of the game",
    "no_attempt": "there is no attempt to rule on; a ruling counts from the start of one until it is settled",
    "no_point": "this needs a point that is off; wait for a come-out roll",
    "no_change": "this ruling is what stands already; nothing to do",
    "not_called_yet": "the attempt is not called yet; wait for the call",
    "not_held": "no call is being held",
    "not_locked": "the table is not locked; nothing to unlock",
    "not_now": "the round is at another stage; this does not come next",
    "not_offered": "this rule set does not offer it",
    "not_ruled_yet": "the attempt is under review; rule on it first",
    "not_staff": "only the table's staff may do this; call the dealer",
    "not_testing": "test mode is off already; nothing to do",
    "nothing_to_accept": "nothing is proposed; set the result or declare it void instead",
    "nothing_to_clear": "there is nothing to clear away",
    "nothing_to_inspect": "nothing awaits this inspection",
    "nothing_to_settle": "there is no result to settle",
    "result_not_in": "the result is not in yet; wait until all is at rest, then set it",
    "run_out_needs_come_out": "a run-out starts on a come-out roll; wait until the point is decided",
    "table_closed": "the table is closed; open it first",
    "table_locked": "the table is locked; mend the cause and unlock it first",
    "table_open": "the table is open; close it first",
    "unknown_input": "this game has no such input",
    "under_way": "an attempt is under way; wait until it is decided",
}
"""What each refusal means to the person whose input it answers."""
