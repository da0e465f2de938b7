"""What stands beside a spin's chart, in words and figures."""

from collections.abc import Iterator

from controller.pictures.spin_seen import SpinSeen


def ball_lines(seen: SpinSeen) -> Iterator[str]:
    """Say how the ball ran."""
    own = sum(pulse.own for pulse in seen.pulses)
    if seen.fitted:
        end = seen.fitted[-1]
        yield (
            f"{end.turns:.1f} revolutions, {end.turns_from:.1f} to {end.turns_to:.1f} with the unseen start;"
            f" {seen.needed_turns:g} must be run (R-SPIN-2)"
        )
        yield f"from {seen.fitted[0].speed_rev_per_s:.2f} down to {end.speed_rev_per_s:.2f} rev/s"
    else:
        yield "the pulses make no run of a ball"
    yield f"ran {seen.ball_direction or 'in a direction not known'} by {own} of {len(seen.pulses)} pulses"
    heard = {pulse.beam for pulse in seen.pulses}
    silent = [str(beam) for beam in range(seen.beams) if beam not in heard]
    if silent and len(silent) < seen.beams:
        yield f"silent: beam {', '.join(silent)}"


def bets_lines(seen: SpinSeen, cause: str) -> Iterator[str]:
    """Say when the bets were closed, and how well the drop was predicted."""
    if seen.closed_s is None:
        yield "no more bets was not called"
    else:
        yield f"no more bets at {seen.closed_s:.2f} s" + (f", {cause.replace('_', ' ')}" if cause else "")
    if seen.predicted_s is not None:
        yield f"drop then predicted for {seen.predicted_s:.2f} s"
    if seen.left_track_s is not None:
        yield f"left the track at {seen.left_track_s:.2f} s, 0.12 s before the drop sensor fired"
    else:
        yield "the drop sensor did not fire"


def pocket_lines(seen: SpinSeen) -> Iterator[str]:
    """Say what the rotor did and which pockets were read."""
    if seen.rotor_direction is None:
        yield "no index pass in the spin told the rotor's direction"
    else:
        yield f"rotor {seen.rotor_direction}, {seen.turn_s:.2f} s a turn"
    if seen.reads:
        numbers = ", ".join(read.number or "not placed" for read in seen.reads)
        yield f"read on {sum(read.counts for read in seen.reads)} agreeing turns: {numbers}"
    else:
        yield "no pocket read"
    for seconds, what in seen.events:
        yield f"{seconds:.2f} s: {what}"
