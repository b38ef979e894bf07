"""A stack of models that is judged as it predicts: `AutoClassifier`."""
