"""Calibrated with few events: against none and scikit-learn, where the truth is known."""
