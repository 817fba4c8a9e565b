"""The rules, one file each, in families. ``registry`` lists them."""
