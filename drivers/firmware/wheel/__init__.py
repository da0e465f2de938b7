"""The wheel board, with ball beams, index and pocket reader."""
