"""AutoClassifier with several classes against CatBoost, histogram boosting and a tuned logit."""
