"""Reference engines, written from the documents without the product's settlement, to compare it with."""
