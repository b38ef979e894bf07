"""Decisions: from probabilities and costs to the cheapest action."""
