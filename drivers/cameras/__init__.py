"""Cameras: those that tell a table what they see, and the plane of the table in their image."""
