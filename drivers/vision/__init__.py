"""The eyes of our own dice camera: pixels in, faces and tracks out. Needs `vision`; no daemon imports it."""
