"""The program of the wall board, whose four piezo sensors measure where and when a die strikes a wall."""
