"""The node link, a protocol for sensor, shoe and console boards that NODE-LINK.md defines."""
