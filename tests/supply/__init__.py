"""What the product is made of: advisories compared with the locks, and the bill of materials."""
