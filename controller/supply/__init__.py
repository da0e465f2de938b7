"""The product's dependencies, as its lock files pin them: bill of materials and audit."""
