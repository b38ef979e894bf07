"""Paper 002, section 6.1: the designs of the Monte Carlo study."""
