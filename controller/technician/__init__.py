"""What a technician's work shows: the guided test's acts, and the mathematics of calibration. Pure."""
