"""The computer vision of the project's dice camera: pixels in, faces and tracks out.

It needs the extra `vision`; the daemon does not import it.
"""
