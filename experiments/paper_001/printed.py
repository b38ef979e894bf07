"""What paper 001 prints in Tables 2, 3 and 4, cell by cell. Judges and computes nothing."""

from __future__ import annotations

METHODS = (
    "logistic",
    "probit",
    "cloglog",
    "undersampled",
    "weighted",
    "gev-log",
    "gev-canonical",
)

# Table 2: rows, columns, share of the rarer class
SETS: dict[str, tuple[int, int, float]] = {
    "nursery": (12960, 27, 0.025),
    "letter-a": (20000, 16, 0.039),
    "car": (1728, 21, 0.040),
    "glass": (214, 9, 0.079),
    "ecoli": (336, 9, 0.104),
    "letter-vowel": (20000, 16, 0.194),
    "cmc": (1473, 24, 0.226),
    "vehicle": (846, 18, 0.251),
    "haberman": (306, 3, 0.265),
    "yeast": (1484, 9, 0.289),
    "german": (1000, 61, 0.300),
    "pima": (768, 8, 0.349),
}

# Tables 3 and 4: one row per set, in the order of METHODS
BRIER: dict[str, tuple[float, ...]] = {
    "nursery": (0.0084, 0.0084, 0.0088, 0.0124, 0.0090, 0.0172, 0.0084),
    "letter-a": (0.0079, 0.0084, 0.0074, 0.0111, 0.0112, 0.0313, 0.0080),
    "car": (0.0266, 0.0262, 0.0267, 0.0320, 0.0271, 0.0296, 0.0259),
    "glass": (0.0670, 0.0671, 0.0744, 0.0623, 0.0637, 0.0614, 0.0649),
    "ecoli": (0.0646, 0.0644, 0.0689, 0.0756, 0.0635, 0.0641, 0.0641),
    "letter-vowel": (0.1392, 0.1392, 0.1400, 0.1416, 0.1414, 0.1405, 0.1367),
    "cmc": (0.1617, 0.1617, 0.1621, 0.1642, 0.1615, 0.1626, 0.1622),
    "vehicle": (0.1399, 0.1395, 0.1422, 0.1501, 0.1408, 0.1497, 0.1394),
    "haberman": (0.1828, 0.1812, 0.1907, 0.1823, 0.1814, 0.1761, 0.1769),
    "yeast": (0.1634, 0.1635, 0.1666, 0.1646, 0.1635, 0.1621, 0.1616),
    "german": (0.1721, 0.1731, 0.1737, 0.1754, 0.1714, 0.1787, 0.1727),
    "pima": (0.1617, 0.1623, 0.1652, 0.1662, 0.1626, 0.1616, 0.1603),
}
CALIBRATION: dict[str, tuple[float, ...]] = {
    "nursery": (0.0007, 0.0006, 0.0006, 0.0016, 0.0009, 0.0010, 0.0008),
    "letter-a": (0.0005, 0.0006, 0.0005, 0.0009, 0.0006, 0.0038, 0.0006),
    "car": (0.0052, 0.0049, 0.0053, 0.0062, 0.0068, 0.0033, 0.0037),
    "glass": (0.0222, 0.0235, 0.0309, 0.0109, 0.0266, 0.0252, 0.0238),
    "ecoli": (0.0230, 0.0245, 0.0264, 0.0260, 0.0266, 0.0229, 0.0202),
    "letter-vowel": (0.0059, 0.0061, 0.0047, 0.0090, 0.0088, 0.0042, 0.0038),
    "cmc": (0.0056, 0.0054, 0.0063, 0.0057, 0.0046, 0.0047, 0.0057),
    "vehicle": (0.0112, 0.0116, 0.0111, 0.0195, 0.0127, 0.0097, 0.0083),
    "haberman": (0.0295, 0.0245, 0.0331, 0.0291, 0.0309, 0.0216, 0.0236),
    "yeast": (0.0083, 0.0078, 0.0090, 0.0087, 0.0091, 0.0060, 0.0064),
    "german": (0.0089, 0.0088, 0.0101, 0.0067, 0.0065, 0.0105, 0.0084),
    "pima": (0.0090, 0.0106, 0.0112, 0.0116, 0.0107, 0.0091, 0.0081),
}
TABLES = {"brier": BRIER, "calibration": CALIBRATION}


def printed(score: str, name: str, method: str) -> float | None:
    """Return a cell of Table 3 ("brier") or 4 ("calibration"); None where the paper has none.

    Examples
    --------
    >>> printed("brier", "pima", "gev-canonical")
    0.1603
    """
    if score not in TABLES or method not in METHODS:
        return None
    return TABLES[score][name][METHODS.index(method)]
