"""The sensor node: our own link to cameras, wall sensors, beams, shoe and console boards (NODE-LINK.md)."""
