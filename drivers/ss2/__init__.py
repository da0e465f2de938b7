"""The SS2 wheel reader: the device for a smart wheel on a serial port."""
