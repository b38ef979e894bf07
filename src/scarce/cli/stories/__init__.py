"""The demo's stories: simulated data, what was made of them, and the truth beside it."""
