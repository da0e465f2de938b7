"""The virtual players keep their promises, and the table agrees with them."""
