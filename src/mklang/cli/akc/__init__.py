"""The commands of `mklang akc`."""
