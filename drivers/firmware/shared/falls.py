"""The PIO program that timestamps a pin's falling edges, in MicroPython's assembler.

It runs in a PIO state machine, so interrupts and other pins do not delay it.
"""

import rp2

COUNTS_HZ = 2000000
"""The clock rate of the state machine. A count takes two cycles, or 1 us."""


@rp2.asm_pio(fifo_join=rp2.PIO.JOIN_RX)
def falls():
    """Decrement X once every two cycles, and push X to the FIFO when the pin falls.

    The path for a falling pin takes six cycles and decrements X three times, so the count does not drift. A
    jump is not taken at X = 0, which costs one cycle in 71 minutes.
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
