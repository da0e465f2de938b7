"""Computer vision for the project's dice camera.

This package needs the extra `vision`. The daemon does not import it.
"""
