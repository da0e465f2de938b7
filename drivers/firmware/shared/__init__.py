"""The parts common to all boards: the node's end of the link, the settings, the loop and the hardware."""
