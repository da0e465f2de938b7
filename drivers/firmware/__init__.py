"""The boards' firmware: MicroPython for the Raspberry Pi Pico and Pico 2. The controller does not run it."""
