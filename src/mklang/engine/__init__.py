"""The run: a pure asynchronous function that asks, and walks gates in code. No clock, file, network or provider."""
