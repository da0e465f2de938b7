"""The node link, a protocol for sensor, shoe and console boards. NODE-LINK.md defines it."""
