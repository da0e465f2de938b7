"""The type of OpenCV's arrays, used for pictures, positions and measurements."""

from typing import TypeAlias

import cv2

Array: TypeAlias = cv2.typing.MatLike
"""Pictures have the shape (height, width, 3): blue, green and red from 0 to 255. Positions have the shape
(n, 2): x to the right and y down, in pixels.
"""
