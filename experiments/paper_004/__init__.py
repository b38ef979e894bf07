"""Paper 004, section 4: Tables 1 and 2, Figures 1 and 2: maxent with missing features."""
