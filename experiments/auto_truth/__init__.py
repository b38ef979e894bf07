"""AutoClassifier where the truth is known: its mean at every size, and tables of pure noise."""
