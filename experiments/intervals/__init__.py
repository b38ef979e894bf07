"""No paper: intervals of logistic regression with 10 to 30 positives, against a known truth."""
