"""Every option of the command line, declared once: name, role, type, help, default, what it feeds.

    Option("drop", "Column to leave out (repeatable).", COLUMN, feeds="open_rows(drop)", ...)
        -> the flag --drop, its help, `drop` in scarce.toml, SCARCE_FIT_DROP, a row of the docs

A verb lists the names that it takes (`takes`). An option that means something else to one verb is
declared again for it, as "predict.id". A group of options reaches the verb as one record. `feeds`
names the argument of the Python function that gets the value; messages of the library that name the
argument are shown with the flag (flags.py). numpy and pyarrow are not imported here.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from scarce.io.text import TextForm

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("csv", "tsv", "parquet", "arrow")
MODELS = ("auto", "rare", "maxent", "bayes")
POLICIES = ("audit", "stratified", "random", "pps", "tail", "uncertainty", "adaptive")
CALIBRATIONS = ("auto", "none", "shift", "temperature", "platt", "beta", "isotonic", "vector")
STORIES = ("fraud", "wildlife", "alerts")
PERIODS = ("day", "week", "month", "quarter", "year")
EXACT = 2**53  # from here on not every integer is a float
AUTO = "auto"  # a base rate that is to be estimated
LARGEST_COST = 1e100  # sums over rows, and differences, stay finite
WHOLE = re.compile(r"[+-]?[0-9]+")


# --- types of values ------------------------------------------------------------------------------


class ColumnName(click.ParamType[str]):
    """A column's name; completes from the header of the file that was typed before it."""

    name = "column"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the name as typed."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: Any, incomplete: str) -> list[Any]:
        """Offer the columns of the first file on the line that can be opened."""
        from click.shell_completion import CompletionItem

        given = [one for held in ctx.params.values() for one in _each(held)]
        for value in [*given, *ctx.args]:  # while a line is completed, click leaves files in args
            path = Path(str(value))
            if path.suffix != ".scarce" and path.is_file():
                return [
                    CompletionItem(name)
                    for name in _columns_of(path)
                    if name.startswith(incomplete)
                ]
        return []


class Integer(click.IntRange):
    """An integer within bounds."""

    name = "integer"


class Number(click.types.FloatParamType):
    """A number."""

    name = "number"


class Between(click.FloatRange):
    """A number within bounds; NaN is within none."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


class Cost(click.ParamType[str]):
    """A cost as typed: a number, a column's name or a formula such as "0.8 * amount + 15"."""

    name = "cost"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the text as typed; refuse a number that cannot be a cost."""
        number = plain_number(str(value))
        if number is not None and not math.isfinite(number):
            self.fail(f"{value} is not a finite cost. Use a large number instead.", param, ctx)
        if number is not None and abs(number) > LARGEST_COST:
            self.fail(
                f"{value} is too large. A million times the other costs rules an action out as "
                "well.",
                param,
                ctx,
            )
        return str(value)


class Share(click.ParamType[str]):
    """A base rate or a sampling rate as typed: NUMBER or CLASS=NUMBER, possibly "auto"."""

    name = "share"

    def __init__(self, *, whole: bool, auto: bool = False) -> None:
        self.whole = whole  # whether 1 is allowed
        self.auto = auto

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the text as typed; refuse what is not in (0, 1), or (0, 1] for a rate."""
        text = str(value)
        if self.auto and text == AUTO:
            return text
        number = text.rpartition("=")[2]
        try:
            share = float(number)
        except ValueError:
            word = ", or auto" if self.auto else ""
            self.fail(f"{number!r} is not a number. Give one such as 0.015{word}.", param, ctx)
        if not (0.0 < share < 1.0 or (self.whole and share == 1.0)):
            hint = f" {share:g} % is {share / 100:g}." if 1.0 < share < 100.0 else ""
            hint = " Every tenth row is 0.1." if self.whole else hint
            most = "at most 1" if self.whole else "below 1"
            self.fail(f"{text} must be above 0 and {most}.{hint}", param, ctx)
        return text


class Rates(click.ParamType[tuple[float, float]]):
    """Two rates of wrong labels as typed: MISSED,FALSE."""

    name = "rates"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, float]:
        """Return the two numbers; whether they are rates is for the library to say."""
        if isinstance(value, tuple):
            return value
        rates = [plain_number(part) for part in str(value).split(",")]
        if len(rates) != 2 or None in rates:
            self.fail(
                f"{value!r} is not two rates: the share of events labelled as none, and of others "
                "labelled as events, such as 0.05,0.01.",
                param,
                ctx,
            )
        return rates[0] or 0.0, rates[1] or 0.0


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _columns_of(path: Path) -> tuple[str, ...]:
    from scarce.io.source import open_table

    try:
        return open_table(path).names
    except Exception:  # a completion cannot report what is wrong with the file
        return ()


COLUMN = ColumnName()
COST = Cost()
SHARE = Share(whole=False)
RATE = Share(whole=True)
NOW = Share(whole=False, auto=True)
RATES = Rates()
INPUT = click.Path(path_type=Path, allow_dash=True)
FILE = click.Path(path_type=Path)
COUNT = Integer(min=1)
NUMBER = Number()


# --- the options ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """One option of the command line.

    Parameters
    ----------
    name : str
        The flag without dashes, and the key in scarce.toml. "predict.id" is --id of predict alone.
    help : str
    type : click.ParamType, sequence of str or bool
        Type of the value, the words to choose from, or bool for a switch.
    default : object
        Shown in the help; None for none.
    metavar : str
        What stands for the value in the help.
    repeatable, required : bool
    feeds : str
        Function and argument in Python that get the value, such as "open_rows(drop)".
    short : str
        A one-letter form.
    parameter : str
        Name of the verb's parameter where that cannot be the option's own name.
    role : str
        What the option is about; set from the table below.
    ambient : bool
        Read where it is needed (`ambient_value`), not handed to the verb as a parameter.
    """

    name: str
    help: str
    type: Any = str
    default: Any = None
    metavar: str = ""
    repeatable: bool = False
    required: bool = False
    feeds: str = ""
    short: str = ""
    parameter: str = ""
    role: str = ""
    ambient: bool = False

    @property
    def flag(self) -> str:
        """The option as typed."""
        return f"--{self.key}"

    @property
    def key(self) -> str:
        """The option's key in scarce.toml."""
        return self.name.rpartition(".")[2]

    @property
    def variable(self) -> str:
        """Name of the verb's parameter."""
        return self.parameter or self.key.replace("-", "_")

    @property
    def arguments(self) -> list[str]:
        """Names of the arguments in Python that it feeds."""
        return re.findall(r"\((\w+)\)", self.feeds)

    def environment(self, verb: str) -> str:
        """Return the environment variable that sets it for a verb."""
        return f"SCARCE_{verb}_{self.key}".upper().replace("-", "_")

    def click(self, verb: str) -> Callable[[Command], Command]:
        """Return click's decorator for it."""
        more: dict[str, Any] = {"envvar": self.environment(verb), "help": self.help}
        if self.type is bool:
            more["is_flag"] = True
        else:
            chosen = isinstance(self.type, tuple)
            more["type"] = click.Choice(self.type) if chosen else self.type
            more |= {"multiple": self.repeatable, "required": self.required}
            more |= {"metavar": self.metavar} if self.metavar else {}
            if self.default is not None:
                more |= {"default": self.default, "show_default": True}
        flags = [self.flag, *([f"-{self.short}"] if self.short else [])]
        return click.option(*flags, self.variable, **more)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its value in scarce.toml."""
        kinds: dict[Any, str] = {bool: "boolean"}
        if isinstance(self.type, tuple):
            one: dict[str, Any] = {"enum": list(self.type)}
        elif isinstance(self.type, Integer):
            one = {"type": "integer", "minimum": self.type.min}
        elif isinstance(self.type, (Cost, Share)) or self.name in NUMBER_OR_WORD:
            one = {"type": ["number", "string"]}
        elif isinstance(self.type, (Number, Between)):
            one = {"type": "number"}
        else:
            one = {"type": kinds.get(self.type, "string")}
        if self.repeatable:
            one = {"anyOf": [one, {"type": "array", "items": one}]}
        shown = self.default if isinstance(self.default, (str, int, float)) else None
        return {**one, "description": self.help} | ({} if shown is None else {"default": shown})


NUMBER_OR_WORD = ("shape", "ridge", "width-scale", "positive", "negative", "unlabelled", "classes",
                  "fit.background", "missing", "threshold", "estimate.threshold", "label.threshold",
                  "budget")  # fmt: skip


def _values(name: str, help: str, feeds: str) -> Option:
    return Option(name, help, metavar="VALUE", repeatable=True, feeds=feeds)


ROLES: dict[str, tuple[Option, ...]] = {
    "labels": (
        Option("label", "Column of labels; an empty cell is not labelled.", COLUMN,
               feeds="open_rows(label) estimate_performance(labels) log_loss(y_true)"),
        _values("positive", "Label of the event, such as 1 or fraud (repeatable).",
                "open_rows(positive)"),
        _values("negative", "Label of all other rows (repeatable).", "open_rows(negative)"),
        _values("unlabelled", "Label that means 'not labelled', such as -1 (repeatable).",
                "open_rows(unlabelled)"),
        _values("classes", "All labels in order, for three or more classes (repeatable).",
                "open_rows(classes)"),
        Option("decide.positive", "The event that the probability is of: a class of the cost file, "
               "or a name for the summary.", metavar="NAME"),
    ),
    "text": (
        Option("delimiter", "Delimiter of text files, such as ';'.", feeds="open_rows(delimiter)"),
        Option("encoding", "Encoding of text files, such as latin-1.", default="utf-8",
               feeds="open_rows(encoding)"),
        Option("decimal", "Decimal mark of text files.", default=".", feeds="open_rows(decimal)"),
        Option("no-header", "Text files have no header; columns are f0, f1, ...", bool,
               feeds="open_rows(header)"),
        _values("missing", "Value that means missing, besides empty and NA, such as -999 "
                "(repeatable).", "open_rows(missing)"),
        Option("only-empty", "Only empty cells are missing; NA, null and such are words.", bool),
    ),
    "model": (
        Option("model", "Model to fit; auto chooses by labels and missing values, and says why.",
               MODELS, default="auto"),
        Option("fit.background", "maxent: label of background points, where nobody looked "
               "(repeatable).", metavar="VALUE", repeatable=True),
        Option("columns", "Column to use as a feature (repeatable).", COLUMN, repeatable=True,
               feeds="open_rows(columns)"),
        Option("drop", "Column to leave out (repeatable).", COLUMN, repeatable=True,
               feeds="open_rows(drop)"),
        Option("fit.id", "Column of row identifiers: not a feature; rows with the same value stay "
               "together.", COLUMN, repeatable=True, parameter="ids"),
        Option("compare.id", "Column of row identifiers: not a feature; rows with the same value "
               "stay together.", COLUMN, repeatable=True, parameter="ids"),
        Option("categories", "Column of numbers that are category codes (repeatable).", COLUMN,
               repeatable=True, feeds="open_rows(categories) MaxentClassifier(categorical)"),
        Option("max-levels", "Largest number of levels of a text column.  [default: 1000; rare, "
               "bayes: 100]", Integer(min=2), metavar="N", feeds="open_rows(max_levels)"),
        Option("loss", "rare: auto, logistic, probit, cloglog, loglog, gev-canonical or gev-log.",
               feeds="RareClassifier(loss)"),
        Option("shape", "rare: shape of the GEV link, a number, auto, or fit (gev-log with a "
               "given ridge).",
               feeds="RareClassifier(shape)"),
        Option("ridge", "rare: strength of the ridge penalty, a number or auto.",
               feeds="RareClassifier(ridge)"),
        Option("objective", "maxent: what is optimised.", ("entropy", "robust"),
               feeds="MaxentClassifier(objective)"),
        Option("default-prevalence", "maxent: prevalence assumed before seeing data.", NUMBER,
               feeds="MaxentClassifier(default_prevalence)"),
        Option("width-scale", "maxent: how closely to follow the labels, a number or auto.",
               feeds="MaxentClassifier(width_scale)"),
        Option("covariance", "bayes: form of each class's covariance matrix.",
               ("diag", "shared-diag", "full", "shared", "shrunk"),
               feeds="GaussianBayes(covariance)"),
        Option("set", "Any other parameter of the model, as in Python (repeatable).",
               metavar="NAME=VALUE", repeatable=True, parameter="more"),
        Option("models", "Models to fit, separated by commas: logistic, rare, maxent, bayes, auto; "
               "with settings: rare:loss=probit:ridge=1.  [default: what suits the data]",
               metavar="NAMES", repeatable=True),
        Option("folds", "Number of cross-validation folds, the same for all models.",
               Integer(min=2), default=5),
        Option("unknown", "What to do with a category that the model has not seen.  [default: "
               "missing, with a warning; error for models that need complete rows]",
               ("error", "missing")),
        Option("band", "Add how often the event happened among training rows scored alike, with "
               "its 90 % interval: band_rate, band_low, band_high (models from fit auto).", bool),
        Option("trust", "Type of another package that a model file may build, as its refusal lists "
               "it (repeatable).", metavar="TYPE", repeatable=True, feeds="load(trust)",
               ambient=True),
    ),
    "sampling": (
        Option("weight", "Column of row weights.", COLUMN,
               feeds="open_rows(weight) log_loss(sample_weight)"),
        Option("weight-kind", "What --weight means: how much of the population a row stands for, "
               "or how many equal rows there were.", ("survey", "frequency"), default="survey",
               feeds="evaluate(weight_kind)"),
        Option("inclusion", "Column with the probability that a row was sampled.", COLUMN,
               feeds="estimate_performance(inclusion)"),
        Option("groups", "Column of groups whose rows belong together: card, patient, site.",
               COLUMN),
    ),
    "segments": (
        *(Option(f"{verb}.by", "Column of segments, such as country, to show figures of each; of "
                 "dates, with --period; or a period such as week, with --date.", COLUMN,
                 feeds="evaluate_by(by)") for verb in ("evaluate", "report")),
        Option("period", "Cut the dates of --by into these periods.", PERIODS,
               feeds="evaluate_by(period)"),
        Option("date", "Column with the date of each row.", COLUMN, feeds="evaluate_by(dates)"),
        Option("label-delay", "Days within which labels usually come: younger rows are not yet "
               "known, whatever their label.", Between(0), metavar="DAYS",
               feeds="evaluate_by(label_delay)"),
        Option("label-date", "Column with the date on which a label came, to estimate the usual "
               "delay from.", COLUMN, feeds="usual_delay(label_dates)"),
        Option("as-of", "Date on which the labels were read.  [default: the last date]",
               metavar="DATE", feeds="evaluate_by(as_of)"),
    ),
    "probabilities": (
        Option("prob", "Column of probabilities; for several classes one --prob each, or a pattern "
               "such as 'prob_*'.  [default: prob, or prob_*]", COLUMN, repeatable=True),
        Option("trained-at", "Base rate that the model was trained at; CLASS=RATE for several "
               "classes.", SHARE, metavar="RATE", repeatable=True,
               feeds="correct_prior(trained_at)"),
        Option("now-at", "Base rate where the probabilities are used; CLASS=RATE for several "
               "classes; auto estimates it with --validation.", NOW, metavar="RATE|auto",
               repeatable=True, feeds="correct_prior(now_at)"),
        Option("validation", "For --now-at auto: a table with --label and the same columns of "
               "probabilities, of rows that the model did not learn from.", FILE, metavar="TABLE",
               feeds="estimate_share(validation)"),
        Option("undersample", "Instead of --now-at: the fraction of non-events kept for training, "
               "such as 0.1; CLASS=RATE for several classes.", RATE, metavar="RATE",
               repeatable=True),
        Option("calibrate.method", "How probabilities are mapped; auto takes the simplest that is "
               "as good as any on left-out rows.", CALIBRATIONS, default="auto",
               feeds="calibrate(method)"),
        Option("new", "Table of new rows whose probabilities to calibrate, instead of TABLE "
               "itself.", FILE, metavar="FILE"),
        Option("predict.id", "Column to write beside prob (repeatable); all columns without it.",
               COLUMN, repeatable=True, parameter="keep"),
        Option("against", "Probabilities in use now: a model file, or a column of TABLE.",
               metavar="MODEL|COLUMN"),
    ),
    "scores": (
        Option("score", "Column of scores; higher means more suspicious.", COLUMN,
               feeds="estimate_performance(scores)"),
        Option("threshold", "Score at or above which a row is an alert; with --batch also "
               "WEEK=SCORE (repeatable).", metavar="SCORE", repeatable=True,
               feeds="estimate_performance(threshold)"),
        Option("audit", "Completed list from `scarce label` (repeatable, earliest first).", FILE,
               metavar="FILE", repeatable=True),
        Option("id", "Column of unique row identifiers, to match the rows of --audit.", COLUMN),
        Option("method", "Where the best guess comes from. auto: a curve of the scores; audit: the "
               "checked rows alone; mixture: two score distributions.",
               ("auto", "audit", "mixture"), default="auto",
               feeds="estimate_performance(method)"),
        Option("assume", "What the interval assumes of the scores. monotone: precision does not "
               "rise as the score falls; nothing.", ("monotone", "nothing"), default="monotone",
               feeds="estimate_performance(assume) plan_audit(assume)"),
        Option("auc", "AUC from a validation, for a better guess when few events were found.",
               NUMBER, metavar="SHARE", feeds="estimate_performance(auc)"),
        Option("batch", "Column with the week, site, ...: lists of several add up, and figures of "
               "each are given.", COLUMN,
               feeds="estimate_performance(batch) choose_labels(batch)"),
        Option("share-shape", "The best guess lets the curves of all batches fall in the same way.",
               bool, feeds="estimate_performance(share_shape)"),
        Option("group", "Column of incidents (patient, machine, attack): counts these, not rows; "
               "one is found if any of its rows is an alert.", COLUMN,
               feeds="estimate_performance(groups) choose_labels(groups)"),
        Option("second", "Column of another score, by which rows below the threshold were drawn.",
               COLUMN,
               feeds="estimate_performance(second_scores) choose_labels(second_scores)"),
        Option("label-error", "Known rates of wrong labels: share of events labelled as none, and "
               "of others labelled as events, such as 0.05,0.01.", RATES, metavar="MISSED,FALSE",
               feeds="estimate_performance(label_error)"),
        Option("second-label", "Column of a second reader's labels for some rows: disagreement "
               "widens the interval.", COLUMN, feeds="estimate_performance(second_labels)"),
        Option("label-source", "Column that says where a label came from: alert, audit, ...",
               COLUMN, feeds="estimate_performance(label_source)"),
        Option("threshold-at", "Column with the threshold in force when a row was scored.", COLUMN,
               feeds="estimate_performance(threshold_at_time)"),
        Option("background", "Mixture: score distribution of non-events.", default="auto",
               metavar="FAMILY", feeds="estimate_performance(background)"),
        Option("foreground", "Mixture: score distribution of events.", default="normal",
               metavar="FAMILY", feeds="estimate_performance(foreground)"),
        Option("no-check", "Do not test whether the labels contradict the curve.", bool,
               feeds="estimate_performance(check)"),
        Option("estimate.score", "Column of scores; higher means more suspicious.", COLUMN,
               required=True, feeds="estimate_performance(scores)"),
        Option("estimate.threshold", "Score at or above which a row is an alert; with --batch also "
               "WEEK=SCORE (repeatable).", metavar="SCORE", repeatable=True, required=True,
               feeds="estimate_performance(threshold)"),
        Option("estimate.also", "Another threshold to report (repeatable).", NUMBER,
               metavar="SCORE", repeatable=True),
        Option("evaluate.threshold", "Probability at or above which a row is an alert.", NUMBER,
               metavar="SCORE"),
        Option("label.threshold", "Score at or above which a row is an alert; with --batch also "
               "WEEK=SCORE (repeatable).", metavar="SCORE", repeatable=True,
               feeds="choose_labels(threshold)"),
    ),
    "choice of rows": (
        Option("policy", "audit: below the threshold, to count what is missed; stratified, random, "
               "pps: simpler draws for the same; tail: highest scores; uncertainty: what a model "
               "cannot decide; adaptive: the same by a mixture.",
               POLICIES, default="audit", feeds="choose_labels(policy)"),
        Option("n", "Number of rows to choose; several sizes with --plan (repeatable).", COUNT,
               metavar="N", repeatable=True, feeds="choose_labels(n)"),
        Option("label.by", "Uncertainty: how it is measured.", ("entropy", "margin", "cost"),
               default="entropy", feeds="choose_labels(by)"),
        Option("label.costs", "Cost file, for --by cost.", FILE, feeds="choose_labels(costs)"),
        Option("explore", "Uncertainty: draw rows at random, this share of them uniformly, so that "
               "labels can be counted.", Between(0, 1), default=0.0, metavar="SHARE",
               feeds="choose_labels(explore)"),
        Option("strata", "Audit, stratified: number of strata.", COUNT, default=10, metavar="N",
               feeds="choose_labels(strata)"),
        Option("allocation", "Stratified: rows per stratum.", ("equal", "proportional"),
               default="equal", feeds="choose_labels(allocation)"),
        Option("label.band", "Audit, pps: this share of the rows lies directly below the threshold "
               "and is taken for certain.", Between(0, 1), default=0.0, metavar="SHARE",
               feeds="choose_labels(band)"),
        Option("label.batch", "Column with the week, site, ...: rows are drawn within each.",
               COLUMN, feeds="choose_labels(batch)"),
        Option("label.group", "Column of incidents (patient, machine, attack): drawn as wholes, by "
               "their highest score.", COLUMN, feeds="choose_labels(groups)"),
        Option("label.second", "Column of another score: rows below the threshold are ranked by "
               "it.", COLUMN, feeds="choose_labels(second_scores)"),
        Option("label.assume", "Plan: what the interval will assume of the scores.",
               ("monotone", "nothing"), default="monotone", feeds="plan_audit(assume)"),
        Option("label.audit", "Earlier list, completed; its rows are not chosen again "
               "(repeatable).", FILE, metavar="FILE", repeatable=True),
        Option("label.id", "Column of unique row identifiers; the row number by default.", COLUMN),
        Option("plan", "Choose no rows; estimate what --n labels would be worth.", bool),
        Option("until", "Write no further list once this is proven, however often one looks: "
               "recall=0.8.", metavar="recall=SHARE", feeds="stop_when(recall)"),
        Option("confidence", "Until: how sure the proof must be.",
               Between(0, 1, min_open=True, max_open=True), default=0.95, metavar="SHARE",
               feeds="stop_when(confidence)"),
        Option("width", "Plan: how many labels give recall an interval of this width, and which "
               "policy is cheapest.", NUMBER, metavar="SHARE"),
        Option("repeats", "Plan: simulated audits of each size.", COUNT, default=20, metavar="N",
               feeds="plan_audit(repeats)"),
        Option("cost-per-label", "Plan: price of one label.", NUMBER, metavar="COST",
               feeds="plan_audit(cost_per_label)"),
    ),
    "costs": (
        Option("false-alarm", "Cost of acting on a non-event.", COST, metavar="COST"),
        Option("miss", "Cost of not acting on an event.", COST, metavar="COST"),
        Option("hit", "Cost of acting on an event.  [default: 0]", COST, metavar="COST"),
        Option("correct-rejection", "Cost of not acting on a non-event.  [default: 0]", COST,
               metavar="COST"),
        Option("abstain", "Cost of referring a row to a person.", COST, metavar="COST"),
        Option("costs", "All costs from a .toml file, or a .csv file with a row per action.",
               metavar="FILE"),
        Option("act", "Name for acting.  [default: act]", metavar="NAME"),
        Option("pass", "Name for not acting.  [default: pass]", metavar="NAME"),
        Option("abstain-name", "Name for abstaining.  [default: abstain]", metavar="NAME"),
    ),
    "decisions": (
        Option("tie", "Of equally cheap actions, take the first listed (pass) or the last.",
               ("first", "last"), default="first", feeds="decide(tie)"),
        Option("budget", "At most N rows get the action (acting, if none is named). Keeps all rows "
               "in memory.", metavar="[ACTION=]N", repeatable=True,
               feeds="decide_within(capacity)"),
        Option("uses", "Column of hours or other units that the budget is counted in.", COLUMN,
               feeds="decide_within(uses)"),
        Option("explain", "Add the cost of every action, and the margin.", bool),
    ),
    "bounds": tuple(
        Option(name, help, NUMBER, metavar="NUMBER")
        for name, help in (
            ("max-log-loss", "Largest log loss, in nats."),
            ("max-brier", "Largest Brier score."),
            ("max-calibration", "Largest calibration loss."),
            ("max-gap", "Largest difference between mean probability and event rate."),
            ("min-skill", "Smallest log loss skill against the constant forecast."),
            ("min-auc", "Smallest AUC."),
            ("max-worse", "Largest mean log loss in excess of --against."),
            ("max-cost", "Largest mean cost per row."),
            ("min-savings", "Smallest share saved against the best single action for all rows."),
            ("min-recall", "Smallest recall at --threshold."),
            ("min-precision", "Smallest precision at --threshold."),
            ("max-missed", "Largest number of missed events below --threshold."),
        )
    ),
    "check": (
        Option("check.by", "End of the interval that must meet the bound: the unfavourable one, "
               "the estimate itself, or always the low or high one.",
               ("worst", "value", "low", "high"), default="worst"),
    ),
    "output": (
        Option("out", "File to write.", INPUT, short="o"),
        Option("fit.out", "Model file to write.", FILE, short="o"),
        Option("report.out", "HTML file to write, such as report.html.", FILE, short="o"),
        Option("demo.out", "Folder for the data, the model and the report.", FILE,
               default=Path("demo"), short="o"),
        Option("to", "Format to write; by default the file's extension.", FORMATS),
        Option("as", "Name of the new columns.  [default: action]", metavar="NAME",
               parameter="named"),
        Option("correct.as", "Add the corrected column under this name ('now_*' for several), and "
               "keep the old one.", metavar="NAME", parameter="named"),
        Option("calibrate.as", "Add the calibrated column under this name ('cal_*' for several), "
               "and keep the old one.", metavar="NAME", parameter="named"),
        Option("formula-safe", "Text for a spreadsheet: ' before cells that it would run as a "
               "formula.", bool),
        Option("force", "Replace the output file if it exists.", bool),
        Option("demo.force", "Replace files of the same names that the demo did not write.", bool),
        Option("title", "Title of the page.  [default: the file names]"),
    ),
    "run": (
        Option("level", "Coverage of the intervals.", Between(0, 1, min_open=True, max_open=True),
               default=0.9, metavar="SHARE", feeds="estimate_performance(level)"),
        Option("seed", "Random seed; the same seed gives the same result.", Integer(min=0),
               default=0, metavar="N", feeds="estimate_performance(random_state)"),
        Option("threads", "Number of cores; one by default. Does not change the result.", COUNT,
               metavar="N", feeds="open_rows(engine)"),
        Option("story", "Example to run.", (*STORIES, "all"), default="all"),
        Option("rows", "Payments per month; the other examples scale with it.",
               Integer(min=2000), default=40_000),
        Option("dry-run", "Say what would be done; read little, write nothing.", bool),
        Option("json", "Write one JSON object on stdout.", bool),
    ),
}  # fmt: skip
OPTIONS = {
    option.name: replace(option, role=role) for role, held in ROLES.items() for option in held
}


# --- from options to a verb -----------------------------------------------------------------------


class Group(NamedTuple):
    """Options that a verb gets as one record.

    Parameters
    ----------
    parameter : str
        Name of the verb's parameter.
    names : tuple of str
        The options.
    record : callable
        Makes the record from the values, by their parameter names.
    """

    parameter: str
    names: tuple[str, ...]
    record: Callable[..., Any]


def names_of(role: str) -> tuple[str, ...]:
    """Return the options of a role that are not one verb's own."""
    return tuple(option.name for option in ROLES[role] if "." not in option.name)


def option_of(verb: str, name: str) -> Option:
    """Return what an option is for a verb: its own declaration, or the shared one.

    Examples
    --------
    >>> option_of("predict", "id").variable, option_of("estimate", "id").variable
    ('keep', 'id')
    """
    return OPTIONS.get(f"{verb}.{name}") or OPTIONS[name]


def takes(*wanted: str | Group) -> Callable[[Command], Command]:
    """Give a verb its options: names, and groups that arrive as one record.

    An option of two groups is declared once, and both get its value.
    """

    def added(function: Command) -> Command:
        verb = function.__name__
        groups = [one for one in wanted if isinstance(one, Group)]
        listed = [n for one in wanted for n in (one.names if isinstance(one, Group) else (one,))]
        options = [option_of(verb, name) for name in dict.fromkeys(listed)]
        alone = {option_of(verb, one).variable for one in wanted if isinstance(one, str)}

        @functools.wraps(function)
        def gathered(*args: Any, **values: Any) -> Any:
            records = {}
            for group in groups:
                names = [option_of(verb, name).variable for name in group.names]
                records[group.parameter] = group.record(**{name: values[name] for name in names})
            grouped = {option_of(verb, name).variable for one in groups for name in one.names}
            left_out = (grouped - alone) | {one.variable for one in options if one.ambient}
            rest = {name: value for name, value in values.items() if name not in left_out}
            return function(*args, **rest, **records)

        for option in reversed(options):  # the last one added is shown first
            gathered = option.click(verb)(gathered)
        return gathered  # type: ignore[return-value]

    return added


def flags_by_argument(names: Iterable[str]) -> dict[str, str]:
    """Return the flag, without dashes, of each Python argument that one of these options feeds.

    Examples
    --------
    >>> flags_by_argument(["seed", "no-header"])
    {'random_state': 'seed', 'header': 'no-header', 'seed': 'seed', 'no_header': 'no-header'}
    """
    names = list(names)
    flags = {
        argument: option.key
        for option in OPTIONS.values()
        if option.key in names
        for argument in option.arguments
    }
    ordered = sorted(flags.items(), key=lambda pair: names.index(pair[1]))
    return {**dict(ordered), **{name.replace("-", "_"): name for name in names}}


def verb_options() -> list[str]:
    """Return the options of the verb that is running, without dashes; none outside a verb."""
    ctx = click.get_current_context(silent=True)
    params = [] if ctx is None else ctx.command.params
    return [name[2:] for one in params for name in one.opts if name.startswith("--")]


def ambient_value(parameter: str) -> Any:
    """Return the value of an ambient option of the verb that is running; None where it has none."""
    ctx = click.get_current_context(silent=True)
    return None if ctx is None else ctx.params.get(parameter)


def is_typed(parameter: str) -> bool:
    """Whether an option was typed, not set by scarce.toml, the environment or its default."""
    source = click.get_current_context().get_parameter_source(parameter)
    return source is click.core.ParameterSource.COMMANDLINE


class LabelFlags(NamedTuple):
    """What was said about the label column, as typed."""

    label: str | None
    positive: tuple[str, ...]
    negative: tuple[str, ...]
    unlabelled: tuple[str, ...]
    classes: tuple[str, ...] = ()
    background: tuple[str, ...] = ()  # those of `unlabelled` where nobody looked


def _text_form(
    delimiter: str | None,
    encoding: str,
    decimal: str,
    no_header: bool,
    missing: tuple[str, ...],
    only_empty: bool,
) -> TextForm:
    from scarce.io.text import TextForm

    mark = {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)
    return TextForm(mark, encoding, decimal, not no_header, missing, only_empty)


LABELS = Group("labels", names_of("labels"), LabelFlags)
TEXT = Group("form", names_of("text"), _text_form)


# --- values as typed ------------------------------------------------------------------------------


def engine_of(threads: int | None) -> Any:
    """Return the engine for a number of threads: None for one, else a pool of that size."""
    if threads is None or threads == 1:
        return None
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)


def plain_number(text: str) -> float | None:
    """Return the number that a text is, None for any other text."""
    try:
        return float(text)
    except ValueError:
        return None


def typed(text: str) -> Any:
    """Read a value as typed: a number where it is one, else the word.

    Examples
    --------
    >>> typed("1"), typed("-0.5"), typed("fraud"), typed("007")
    (1, -0.5, 'fraud', '007')
    >>> typed("9007199254740993"), typed("1e3")  # 2**53 + 1, which no float is
    (9007199254740993, 1000)
    """
    number = plain_number(text)
    if number is None or not math.isfinite(number):
        return text
    if text != text.strip() or (len(text) > 1 and text[0] == "0" and text[1].isdigit()):
        return text
    if WHOLE.fullmatch(text):
        return int(text)
    return int(number) if number == int(number) and abs(number) < EXACT else number


def class_key(name: Any) -> Any:
    """Return what the spellings of one class share: 1, 1.0, True and "1".

    Integers too large for a float stay apart.

    Examples
    --------
    >>> class_key("1") == class_key(1.0) == class_key(True), class_key("fraud")
    (True, 'fraud')
    >>> class_key("9007199254740993") == class_key(2**53)
    False
    """
    try:
        number = float(name)
    except (TypeError, ValueError, OverflowError):
        return str(name)
    if abs(number) < EXACT or not math.isfinite(number):
        return number
    if isinstance(name, str):
        return int(name) if WHOLE.fullmatch(name.strip()) else number
    return int(name) if hasattr(name, "__index__") else number


def missing_values(words: Sequence[Any]) -> list[Any]:
    """Return what --missing says, as words and as the numbers that they spell.

    Examples
    --------
    >>> missing_values(("-999", "none"))
    ['-999', 'none', -999]
    """
    both = [*words, *(typed(str(word)) for word in words)]
    return [value for place, value in enumerate(both) if value not in both[:place]]
