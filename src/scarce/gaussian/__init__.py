"""Gaussian classes (paper 003): moments, densities with missing values, EM, `GaussianBayes`."""
