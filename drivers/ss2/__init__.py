"""The SS2 wheel reader, a smart wheel on a serial port."""
