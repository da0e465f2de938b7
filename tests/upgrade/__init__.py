"""What happens to a table that ran 0.1.0 under this release."""
