"""The chip's own program for stamping when a pin falls, in MicroPython's assembler.

It runs in a state machine of the PIO beside the processor: no interrupt and no other pin delays it.
"""

import rp2

COUNTS_HZ = 2000000
"""A count takes two cycles, a microsecond."""


@rp2.asm_pio(fifo_join=rp2.PIO.JOIN_RX)
def falls():
    """Count X down once every two cycles, whatever happens, and push it when the pin falls: there is no
    drift.

    A falling pin takes six cycles and three counts. When X is 0 a jump falls through: one cycle lost in 71
    minutes.
    """
    label("high")
    jmp(pin, "still")
    mov(isr, x)
    push(noblock)
    jmp(x_dec, "second")
    label("second")
    jmp(x_dec, "third")
    label("third")
    jmp(x_dec, "low")
    label("low")
    jmp(pin, "still")
    jmp(x_dec, "low")
    label("still")
    jmp(x_dec, "high")
