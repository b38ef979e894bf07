"""Rare classes (paper 001): links, losses, solvers and `RareClassifier`."""
