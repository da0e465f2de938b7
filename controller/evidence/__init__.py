"""Pictures that a camera kept of a throw: files named by their SHA-256, found again, verified, deleted."""
