"""A card shoe that sends one code per line."""
