"""The wall board, which measures the position and time of impacts on a wall with four piezo sensors."""
