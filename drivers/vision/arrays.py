"""The one type of pictures, places and measures: arrays of numbers, as OpenCV takes and returns them."""

from typing import TypeAlias

import cv2

Array: TypeAlias = cv2.typing.MatLike
"""Pictures are (height, width, 3), blue, green, red, 0 to 255; places (n, 2), x right, y down, in pixels."""
