"""The parts that all boards share: the node's end of the link, the settings, the loop, the hardware."""
