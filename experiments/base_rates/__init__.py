"""Today's base rate under label shift, and one labelled class with a known share."""
