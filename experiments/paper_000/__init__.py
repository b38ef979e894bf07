"""Paper 000, section 3: one default prevalence for 226 species, Figure 1 and the average AUCs."""
