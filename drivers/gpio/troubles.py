"""What can be wrong with GPIO lines and what is wired to them: codes, likely causes, what to do next.

The code and the reason of every `device_down` and `device_fault` of a GPIO device come from here; the pages
of docs/devices show the same table.
"""

from drivers.health import Cause

_OPEN = "when the lines open"
_LATER = "a second after the last one"

GPIO_TROUBLES: dict[str, Cause] = {
    "starting": Cause(
        "the table has just started, or its lines have just been opened",
        "wait two seconds; if it stays, look at the next message",
        "when every line's level is known",
    ),
    "no_library": Cause(
        "the controller was installed without its hardware extra",
        "install it with: pip install 'table-controller[hardware]'",
        "when the service is started again",
    ),
    "no_factory": Cause(
        "the pin factory can't work on this machine; another one is never taken in its place",
        "look at what it said; check that the chip exists (gpiodetect) and the user is in group gpio",
        _OPEN,
    ),
    "no_chip": Cause(
        "the table's file names the chip of another Raspberry Pi",
        "write the label that gpiodetect shows in brackets: pinctrl-bcm2711 (Pi 4) or pinctrl-rp1 (Pi 5)",
        _OPEN,
    ),
    "no_line": Cause(
        "the chip has no such line, or can't pull it as the table's file says",
        "compare the line and its pull with the device's page",
        _OPEN,
    ),
    "no_folder": Cause(
        "lgpio makes a pipe named .lgd-nfy0 in the working directory, which can't be written to",
        "set WorkingDirectory=/run/table in the unit, then start the service again",
        "when the service is started again",
    ),
    "line_busy": Cause(
        "another program, or a kernel driver of an overlay, has the line",
        "stop that program (gpioinfo names it), or take its dtoverlay out of config.txt",
        _OPEN,
    ),
    "no_permission": Cause(
        "the service's user is not in group gpio, or the unit does not allow the chip",
        "ls -l /dev/gpiochip* must show group gpio; the unit needs DeviceAllow=char-gpiochip rw",
        _OPEN,
    ),
    "port_fault": Cause(
        "the operating system refused to read or set up a line",
        "look at dmesg; restart the service",
        _OPEN,
    ),
    "silent": Cause(
        "the thread that listens to the lines hangs",
        "the lines are opened anew by themselves; if that does not help restart the service",
        "when the levels are told again",
    ),
    "lost_edges": Cause(
        "more edges than the kernel keeps, or a table that was busy",
        "look at the table's load and for a line that oscillates; what was missed was not counted",
        _LATER,
    ),
    "missed_edge": Cause(
        "an edge too short for the hardware, or interference",
        "check the pull, the shield and the length of the wire",
        _LATER,
    ),
    "babbling": Cause(
        "a loose contact, a missing pull, a beam out of line, or interference",
        "check the plug and the pull; the input is not listened to meanwhile",
        "when it has been calm for a second",
    ),
    "stuck": Cause(
        "something lies in the beam or holds the button, or the wire is cut or shorted",
        "look at the sensor; clean it; measure the wire",
        "when the input lets go",
    ),
    "direction_unclear": Cause(
        "one of the two index sensors is dead or dirty, or the rotor turned over under them",
        "turn the rotor slowly by hand: both sensors must see the mark, one after the other",
        "when the mark passes both sensors as it should",
    ),
}
"""Every code of a GPIO device's trouble."""
