"""Storage of a camera's pictures of throws, in files named after their SHA-256."""
