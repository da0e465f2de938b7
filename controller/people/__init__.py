"""The register of people who may sign in at screens, the sign-in process, and the tokens that it issues."""
