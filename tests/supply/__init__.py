"""What the product is made of: advisories held against the locks, and the bill of materials."""
