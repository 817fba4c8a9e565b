"""A caller and its callee beside each other."""
