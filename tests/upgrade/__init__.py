"""What a table has that ran 0.1.0, and what becomes of it under this release."""
