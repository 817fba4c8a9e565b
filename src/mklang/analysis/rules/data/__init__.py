"""What is written to the blackboard and read from it."""
