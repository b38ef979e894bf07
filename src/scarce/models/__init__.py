"""Models: probabilities from rows."""
