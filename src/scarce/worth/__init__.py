"""What did decisions cost, and were they worth it? Figures with intervals."""
