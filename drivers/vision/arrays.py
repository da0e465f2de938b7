"""The array type of pictures, positions and measurements, as OpenCV takes and returns it."""

from typing import TypeAlias

import cv2

Array: TypeAlias = cv2.typing.MatLike
"""Pictures are (height, width, 3), blue, green, red, 0 to 255; positions (n, 2), x right, y down, in
pixels."""
