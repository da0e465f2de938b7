"""The console board: keys, switches, lamps and buzzer."""
