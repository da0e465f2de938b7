"""The drivers of a table's hardware, which depend only on the controller's model."""
