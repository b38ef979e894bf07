"""Complete tables as they are: AutoClassifier beside AutoGluon, CatBoost, boosting and a logit."""
