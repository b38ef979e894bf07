"""Paper 001, section 4: Tables 3 and 4, Figures 1 and 2, and the synthetic designs."""
