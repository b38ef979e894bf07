"""The lecture notes (003), sections 0.1 to 1.6, as one story with known truth."""
