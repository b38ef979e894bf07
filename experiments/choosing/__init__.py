"""No paper: how often `compare` calls one of several equally good models worse."""
