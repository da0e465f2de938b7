"""The technician's side: the doctor, tests of devices, calibration, and pictures of what was judged."""
