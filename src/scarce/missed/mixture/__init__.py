"""Scores as a mixture of two families, fitted to partly labelled data: `ScoreMixture`."""
