"""Lewis, Yang and Frieder (2021), the rule QBCB, beside the three methods of `stop_when`."""
