"""Computer vision for the project's dice camera.

This package needs the `vision` extra. The daemon does not import it.
"""
