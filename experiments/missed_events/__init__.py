"""Which interval for recall and missed events holds the truth of the batch, and is the shortest?"""
