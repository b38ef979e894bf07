"""AutoClassifier against CatBoost and tuned logistic regression on 26 public rare-class sets."""
