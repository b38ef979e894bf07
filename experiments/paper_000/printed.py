"""What paper 000 prints in section 3, and what Maxent 3.4.4 gave. Judges and computes nothing."""

from __future__ import annotations

SPECIES = 226
REGIONS = ("AWT", "CAN", "NSW", "NZ", "SA", "SWI")
AUC_MAXENT = 0.7583
AUC_ROBUST = (0.7451, 0.7568)  # least and greatest over the default prevalence
AUC_TREES = 0.7545
EDGES = (0.0, 0.02, 0.04, 0.08, 0.16, 0.32, 1.0)  # of test prevalence, Figure 1
BINS = ("at most .02", ".02-.04", ".04-.08", ".08-.16", ".16-.32", "above .32")
ALL = "all"
