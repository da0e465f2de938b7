"""The wheel board: ball beams, index and pocket reader."""
