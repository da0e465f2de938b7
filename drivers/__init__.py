"""The hardware side: bytes and edges in, readings out. Of the controller, it imports only the model."""
