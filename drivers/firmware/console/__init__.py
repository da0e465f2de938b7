"""The console board, with keys, switches, lamps and a buzzer."""
