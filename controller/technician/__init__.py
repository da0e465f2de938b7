"""The technician's tools: the doctor, guided device tests, calibration, and drawings of judged attempts."""
