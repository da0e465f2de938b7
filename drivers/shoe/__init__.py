"""A card shoe that sends one code a line."""
