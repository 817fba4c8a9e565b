"""What the ways through a machine show: whether it can end, what that costs, where it can be caught."""
