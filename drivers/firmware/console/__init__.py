"""The program of the console board, which has keys, switches, lamps and a buzzer."""
