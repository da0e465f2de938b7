"""The sensor node link: the project's own protocol for sensor, shoe and console boards (NODE-LINK.md)."""
