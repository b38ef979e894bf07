"""Generative classes (paper 003): densities with missing values, EM, `GaussianBayes`."""
