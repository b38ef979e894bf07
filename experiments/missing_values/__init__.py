"""Missing values: regression and stack without imputing, beside imputing first and boosting."""
