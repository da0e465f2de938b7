"""What serves HTTP in bounds, whatever it serves."""
