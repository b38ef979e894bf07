"""How good are probabilities, and what do decisions cost, on rows whose outcome is known?"""
