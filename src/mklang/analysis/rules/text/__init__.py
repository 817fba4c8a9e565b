"""What YAML makes of a text that the author did not see."""
