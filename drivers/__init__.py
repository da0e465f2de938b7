"""The hardware side: bytes and edges in, readings out. Imports only the reading types."""
