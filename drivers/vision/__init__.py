"""Our own dice camera's eyes: pixels in, faces and tracks out. Needs the extra `vision`; no daemon imports it."""
