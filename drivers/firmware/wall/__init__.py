"""The wall board: where and when dice hit the wall, from four piezo sensors along it."""
