"""How often do the intervals for recall and missed events hold the truth of the batch?"""
