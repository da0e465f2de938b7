"""What the product is made of besides its own code: the releases that its lock files pin."""
