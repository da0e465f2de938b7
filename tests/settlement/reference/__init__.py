"""Reference engines, written from the documents, for comparison with the controller's settlement."""
