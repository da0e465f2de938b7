"""The computer vision of our own dice camera: pixels in, faces and tracks out.

Needs the extra `vision`; the daemon does not import it.
"""
