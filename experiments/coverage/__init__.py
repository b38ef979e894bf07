"""Do the intervals of evaluation, curves, costs and comparisons hold the truth?"""
