"""The bill of materials and the audit of the dependencies pinned by the product's lock files."""
