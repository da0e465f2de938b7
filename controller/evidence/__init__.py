"""Pictures that a camera keeps of throws, in files named by their SHA-256."""
