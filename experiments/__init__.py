"""The papers' own experiments, run again: one folder per experiment. See README.md."""
