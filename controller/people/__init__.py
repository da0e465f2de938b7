"""People at screens: who may sign in, the process that signs them in, and the tokens that identify them."""
