"""What the gates of one state decide, or cannot."""
