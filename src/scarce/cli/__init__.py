"""The command line: one file per verb, a thin skin over the library."""
