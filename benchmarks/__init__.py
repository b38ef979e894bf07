"""Measured comparisons: problems, one adapter per side, one runner. See README.md."""
