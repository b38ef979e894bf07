"""Maxent for labels revealed at an unknown rate (papers 000 and 004): `MaxentClassifier`."""
