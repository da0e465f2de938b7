"""What a support person would ask of a table's machine: looked at, a line each, nothing changed."""
