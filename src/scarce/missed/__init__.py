"""What a detector misses (paper 002): performance from partly labelled scores; what to label."""
