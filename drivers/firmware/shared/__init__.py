"""What every board has: its end of the node link, its settings, its loop, its hardware."""
