"""How a model is fitted to rows: sums over rows, and a search that stops on a certificate."""
