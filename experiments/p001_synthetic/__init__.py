"""Paper 001, section 4.1: the synthetic designs."""
