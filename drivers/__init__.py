"""The drivers for a table's hardware. They depend only on the controller's model."""
