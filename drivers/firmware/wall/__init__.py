"""The wall board: position and time of impacts on a wall, from four piezo sensors along it."""
