"""An engine of our own rules, written apart from the product's settlement, to hold that against."""
