"""GaussianBayes on 38 tables with and without missing values: never worse than the constant."""
