"""What can be said about values that are missing, from those that were seen."""
