"""The sentences of the page that a full run writes. Numbers come from the code that made them."""

from __future__ import annotations

from experiments.paper_002.jobs import LABELS, REPEATS, TRIALS
from experiments.paper_002.methods import ROUNDS
from experiments.paper_002.printed import FOREGROUND, RATE_4, RECALL_4, SHARE_4, TRIALS_3
from experiments.paper_002.sets import DRAWS, LEAST, MOST

FITS = (
    "Fits: *paper* is EM from the labelled scores alone, the family by KS distance, as printed; "
    "*our start* begins in the bulk of the scores; *likelihood* also picks the family by "
    "likelihood and has a weak prior on the two spreads; *five families* may take a student-t or "
    'skew-normal background too; *mixture* is `estimate_performance(method="mixture")`, the same '
    "model as *likelihood* asked about the events of this sample, labelled ones counted (6.2); "
    "*auto* is `estimate_performance()`, which needs no law of the background. The paper prints "
    "almost no numbers: its figures are compared in words."
)
FIGURE_1 = (
    "Upper row: the paper's, each parameter as if all others were known. Lower row: with cross "
    "terms, one over the variance that is left when the others are estimated too. Labels taken by "
    "class say nothing about the share of a class; eq 3 counts them as if they did, and so do the "
    "dashed curves of β."
)
FIGURE_2 = (
    f"{REPEATS['figure 2']} samples of 10,000 scores, the top 5 % labelled. Mean, [5 %, 95 %], and "
    "deviation over the information bound, which is for unbiased estimates and many rows."
)
FIGURE_3 = (
    "Share of trials that picks the true background among normal, lognormal and gamma. Trials: "
    + "; ".join(f"{x} labels {TRIALS[x][1]}, at the default {TRIALS[x][0]}" for x in LABELS)
    + f". The paper has {TRIALS_3:,} everywhere. With random labels both starts mostly end in the "
    "same place."
)
FIGURE_4 = (
    f"The paper does not give the foreground's mean: {FOREGROUND} is taken, the distance of its "
    f"Figures 1 and 2. Labels in rounds: {ROUNDS} rounds. Default design: balance {SHARE_4}, "
    f"labelling rate 1/{round(1 / RATE_4)}, true recall {RECALL_4}. Estimates: 5, 50 and 95 %. "
    "Wrong sign: dP/dR estimated positive; near: within a factor of 2 of the truth. "
    "The second rmse is against the recall of the sample itself, which is what an operator asks "
    "for. *auto* gives no recall where fewer than 5 events have a label (refused). *paper* begins "
    "as ours where fewer than two of either class are labelled, for then its own start does not "
    "exist (no start)."
)
FIGURE_5 = (
    "The paper's two series may not be copied. The stand-ins have their rows, positives and "
    "labelled positives, and were chosen for that, so that nearness of the estimates is no "
    "evidence. They have the paper's 12 labels, all of them alerts, and an audit of 12 more. "
    f"The other sets have rows / 32 labels, from {LEAST} to {MOST}; alerts are the top half of "
    "them; the other half lies right below, or is an audit. The audit's recall is the mean of "
    f"{DRAWS} draws, its interval that of the first draw; held: how many of the {DRAWS} intervals "
    "hold the truth. Posterior: unlabelled scores count as their posterior. The pictures show the "
    "paper's fit and that of five families."
)
