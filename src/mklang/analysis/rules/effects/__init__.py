"""Tools that change the world, and whose word they run on."""
