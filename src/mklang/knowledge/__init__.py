"""The knowledge cycle: experience in, approved behaviour out (S48, S49)."""
