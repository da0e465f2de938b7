"""The program of the wheel board, which has ball beams, a drop sensor, a rotor index and a pocket reader."""
