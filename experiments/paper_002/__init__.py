"""Paper 002, sections 4 to 6: Fisher information, convergence, simulations and real scores."""
