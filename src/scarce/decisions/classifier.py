"""Any classifier that acts by costs: the cheapest action instead of the likeliest class.

    predict_action(X) = decide(estimator.predict_proba(X), costs)                       (003 0.2)

The inner fit does not use the costs: probabilities first, then decisions, and new costs
need no new fit. Class weights of the inner fit are undone, because costs say what a mistake costs.
Assumes that the inner probabilities are right; `PriorCorrected`, `RareClassifier` and
scikit-learn's `CalibratedClassifierCV` are there for that. Does not tune a threshold: the costs say
it.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from scarce.checks import (
    Constraint,
    Shares,
    Word,
    check_parameters,
    read_shares,
    read_weight,
    refuse_length,
    refuse_one_class,
    refuse_other_index,
)
from scarce.decisions.cost_entries import Name, Table
from scarce.decisions.costs import CostMatrix, CostsLike, as_costs, order_matters
from scarce.decisions.decide import (
    DecisionTable,
    base_rates,
    cheapest,
    decide,
    decision_table,
    encode_labels,
)
from scarce.engine.block import Array
from scarce.engine.rows import Rows
from scarce.errors import (
    Argument,
    DataError,
    Phrase,
    UsageError,
    inconsistent_model,
    warn_user,
)
from scarce.io.labels import label_array
from scarce.io.schema import unmasked_weights
from scarce.prior.mix import (
    TrainingRows,
    fix_balanced,
    gives_probabilities,
    mix_of,
    training_rows,
    unclear_base_rates,
)
from scarce.prior.shift import correct_prior

PARAMETERS: dict[str, list[Constraint]] = {"tie": [Word("first", "last")]}


class CostSensitiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier with probabilities, and the cheapest action for every row.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Pipelines too. Fitted as it is: costs do not enter its fit. One that is fitted already goes
        into scikit-learn's `FrozenEstimator`.
    costs : CostMatrix or array-like of shape (n_actions, n_classes), optional
        By default 1 for a wrong class. Costs without class names take the classes of the estimator
        in its (sorted) order. Entries that name a column get its values at prediction; arrays of
        one cost per row are refused, because they would belong to the rows of one table.
    tie : {"first", "last"}
        Which of several actions of equal expected cost.
    trained_at, now_at : float, array-like of shape (n_classes,), dict or Series, optional
        Base rates that the inner probabilities are for, and base rates where they are used; see
        `correct_prior`. By default found: class weights are undone, so that probabilities are for
        the rows passed to `fit`; base rates that the inner estimator was told (`priors`, a
        `PriorCorrected`) stay. Either may be given alone.

    Attributes
    ----------
    estimator_ : the fitted classifier
    classes_ : ndarray of shape (n_classes,)
    costs_ : CostMatrix
        The costs with the classes and actions of this classifier; new `costs` need no new fit.
    actions_ : ndarray of shape (n_actions,)
    trained_at_, now_at_ : ndarray of shape (n_classes,), or None
        Base rates that the inner probabilities are for, and those that `predict_proba` and actions
        are for. Equal where nothing is corrected; None around a frozen estimator that does not
        say.

    **Assumes** that the inner probabilities are right for the base rates `trained_at_`, that rows
    at prediction have the base rates `now_at_`, and that the cost of a row depends on its own
    action and class alone.

    Notes
    -----
    Costs per row come with the rows: `predict_action(X, amounts=...)` takes a table with the
    columns that the costs name, or an array with one column for each. Without `amounts`, columns of
    these names in a table X are used, as they reach this classifier: put a pipeline that changes
    them inside it, not before it. In pipelines and searches, route them:
    `model.set_predict_request(amounts=True).set_score_request(amounts=True)`, after
    `sklearn.set_config(enable_metadata_routing=True)`.

    Examples
    --------
    >>> from scarce import CostMatrix, GaussianBayes
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(500) < 0.1).astype(int)
    >>> X = rng.normal(size=(500, 2)) + 1.5 * y[:, None]
    >>> costs = CostMatrix.binary(false_alarm=5, miss="amount").with_abstain(3)
    >>> model = CostSensitiveClassifier(GaussianBayes(), costs).fit(X, y)
    >>> model.predict_action(X[:3], amounts=[1.0, 60.0, 9000.0])
    array([0, 0, 1], dtype=object)

    Class weights are undone:

    >>> from sklearn.linear_model import LogisticRegression
    >>> weighted = LogisticRegression(class_weight="balanced")
    >>> model = CostSensitiveClassifier(weighted, costs).fit(X, y)
    >>> model.trained_at_, model.now_at_
    (array([0.5, 0.5]), array([0.906, 0.094]))
    """

    # Not used here but passed on: in routing only the inner estimator has to ask for it.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}

    def __init__(
        self,
        estimator: BaseEstimator,
        costs: CostsLike | None = None,
        *,
        tie: str = "first",
        trained_at: Shares | None = None,
        now_at: Shares | None = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.tie = tie
        self.trained_at = trained_at
        self.now_at = now_at

    def fit(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Fit the inner classifier; the costs wait for prediction.

        Parameters
        ----------
        X, y : as the inner classifier takes them
            `Rows` too, where it does.
        sample_weight : array-like of shape (n,), optional
        **params : passed to the inner fit
            With metadata routing, to whom it is routed.
        """
        refuse_other_index(X=X, y=y, sample_weight=sample_weight)
        check_parameters(self, PARAMETERS)
        if not gives_probabilities(self.estimator):
            raise UsageError(
                "{estimator} has no predict_proba, and expected costs need probabilities.",
                code="no-predict-proba",
                estimator=type(self.estimator).__name__,
                remedy="Wrap it in scikit-learn's CalibratedClassifierCV first.",
            )
        costs = self._given_costs()  # what is wrong with them is said before a long fit
        self.estimator_ = clone(self.estimator)
        if isinstance(X, Rows):
            if y is not None or sample_weight is not None:
                raise UsageError(
                    "Rows carry their own labels and weights.",
                    code="rows-carry-labels",
                    opened=Phrase("open_rows(label=, weight=)"),
                    remedy="Name them in {opened}, not in fit.",
                )
            self.estimator_.fit(X, **params)
            sums, _ = X.label_counts()
            used = TrainingRows(np.asarray(self.estimator_.classes_), sums, sums)
        else:
            if isinstance(y, np.ma.MaskedArray):  # scikit-learn would take what lies behind a mask
                y = label_array(y)
            weight = unmasked_weights(sample_weight)
            inner = self._inner_params(weight, params)
            used = self._fit_arrays(X, y, inner)
        self.classes_ = np.asarray(self.estimator_.classes_)
        self._find_base_rates(used)
        names = self.classes_.tolist()
        if costs is not None and costs.shape[1] != len(names):
            only = "Only binary classification is supported by costs for two classes. " * (
                costs.shape[1] == 2
            )
            raise UsageError(
                "{only}The costs are for {classes}, and y has {count} classes {names}.",
                code="class-mismatch",
                only=only,
                classes=list(costs.classes),
                count=len(names),
                names=names[:8],
                remedy="Give a column of costs for each class.",
            )
        if names != list(range(len(names))):  # numbers may be those of a VotingClassifier
            self._check_costs(costs, names)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def _fit_arrays(
        self, X: ArrayLike, y: ArrayLike | None, params: dict[str, Any]
    ) -> TrainingRows:
        """Fit the inner classifier; return the weight and the number of rows of each class."""
        labels = None if y is None else np.asarray(label_array(y))
        weight = None
        for name, value in params.items():
            if name.endswith("sample_weight") and value is not None:
                weight = np.asarray(value, dtype=np.float64)
        if labels is not None and weight is not None and weight.shape == labels.shape:
            fix_balanced(self.estimator_, labels, weight)
        self.estimator_.fit(X, y, **params)
        classes = np.asarray(self.estimator_.classes_)
        if labels is None:
            return TrainingRows(classes)
        return training_rows(labels.ravel(), weight, classes)

    def _find_base_rates(self, used: TrainingRows) -> None:
        """Find the base rates that the inner probabilities are for, and those that were meant."""
        self.base_rates_ = None
        if len(self.classes_) < 2:
            return
        found = mix_of(self.estimator_, used)
        trained, meant = found.rates, found.population
        if self.trained_at is not None:
            trained = read_shares(self.trained_at, self.classes_.tolist(), "trained_at")
            meant = None
        if trained is None:
            if found.origin != "rows" or self.now_at is not None:
                raise unclear_base_rates(found)
            return  # of a frozen estimator, whose probabilities are left as they are
        meant = used.rates if meant is None else meant
        meant = trained if meant is None else meant
        if not np.array_equal(trained, meant):
            refuse_one_class(self.classes_, meant)
        self.base_rates_ = np.array([trained, meant])

    def _base_rates(self) -> tuple[Array, Array] | None:
        """Return the base rates of the inner probabilities and those to predict for."""
        if not hasattr(self, "classes_"):
            raise AttributeError("Base rates exist after fit.")
        names, found = self.classes_.tolist(), getattr(self, "base_rates_", None)
        trained, meant = (None, None) if found is None else found  # None: a file of older versions
        if self.trained_at is not None:
            trained = read_shares(self.trained_at, names, "trained_at")
        if self.now_at is not None:
            meant = read_shares(self.now_at, names, "now_at")
        if base_rates(trained, meant) is None:
            return None
        return np.asarray(trained), np.asarray(meant)

    @property
    def trained_at_(self) -> Array | None:
        """Base rates that the inner probabilities are for."""
        rates = self._base_rates()
        return None if rates is None else rates[0]

    @property
    def now_at_(self) -> Array | None:
        """Base rates that the probabilities of this classifier, and its actions, are for."""
        rates = self._base_rates()
        return None if rates is None else rates[1]

    @property
    def costs_(self) -> CostMatrix:
        """The costs with the classes of this classifier."""
        if not hasattr(self, "classes_"):
            raise AttributeError("costs_ exists after fit.")
        names = self.classes_.tolist()
        costs = self._given_costs() or CostMatrix.zero_one(max(2, len(names)))
        try:
            return costs.with_classes(names)
        except UsageError as error:
            if costs.positional or names != list(range(len(names))):
                raise
            raise UsageError(
                "The costs are for {classes}, and this classifier was fitted on the classes "
                "{names}: VotingClassifier and cross_val_predict number them.",
                code="numbered-classes",
                classes=list(costs.classes),
                names=names,
                remedy="Give costs without class names, in the sorted order of the classes.",
            ) from error

    @property
    def actions_(self) -> NDArray[Any]:
        """Names of the actions."""
        return self.costs_.action_names()

    def predict_proba(self, X: ArrayLike | Rows) -> Array:
        """Return the probability of each class under the base rates `now_at_`."""
        check_is_fitted(self)
        prob = self.estimator_.predict_proba(X)
        rates = self._base_rates()
        if rates is None or np.array_equal(*rates):
            return np.asarray(prob)
        return correct_prior(prob, *rates)

    def predict_action(self, X: ArrayLike | Rows, amounts: Table = None) -> NDArray[Any]:
        """Return the name of the cheapest action for every row.

        Parameters
        ----------
        X : as the inner classifier takes it
        amounts : table, dict or array-like, optional
            Values of the columns that the costs name, one per row.
        """
        prob = self.predict_proba(X)
        costs = self._costs_of(X, amounts)
        return decide(prob, costs, tie=self.tie, classes=costs.classes)

    def predict(self, X: ArrayLike | Rows, amounts: Table = None) -> NDArray[Any]:
        """Return the class to act on: the cheapest of the actions that are named after a class.

        Actions such as abstaining are left out here; `predict_action` has them.
        """
        prob = self.predict_proba(X)
        costs = self._costs_of(X, amounts)
        chosen = costs.class_actions
        if not chosen:
            raise UsageError(
                "None of the actions {actions} is named after a class {classes}.",
                code="no-class-action",
                actions=list(costs.actions),
                classes=self.classes_.tolist(),
                remedy="Use predict_action(X).",
            )
        if len(chosen) == 1:
            best = np.zeros(len(prob), dtype=np.intp)
        else:
            named = costs.only([costs.actions[a] for a in chosen])
            best = cheapest(prob, named, tie=self.tie)
        place = [costs.classes.index(costs.actions[a]) for a in chosen]
        return np.asarray(self.classes_[np.asarray(place)[best]])

    def decision_table(self, X: ArrayLike | Rows, amounts: Table = None) -> DecisionTable:
        """Return every row's probabilities, expected costs, action, runner-up and margin."""
        prob = self.predict_proba(X)
        costs = self._costs_of(X, amounts)
        return decision_table(prob, costs, tie=self.tie, index=getattr(X, "index", None))

    def score(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        amounts: Table = None,
    ) -> float:
        """Return minus the mean cost of the actions taken: greater is better, as in searches.

        Parameters
        ----------
        X, y : rows and their classes
        sample_weight : array-like of shape (n,), optional
        amounts : table, dict or array-like, optional
        """
        refuse_other_index(X=X, y=y, sample_weight=sample_weight)
        check_is_fitted(self)
        costs = self._costs_of(X, amounts)
        best = cheapest(self.predict_proba(X), costs, tie=self.tie)
        truth = self._codes(y, len(best))
        each = np.arange(len(best))
        table = costs.at(0, len(best))
        paid = table[best, truth] if table.ndim == 2 else table[each, best, truth]
        if sample_weight is None:
            return -float(paid.mean())
        weight = read_weight(sample_weight, len(paid), "sample_weight")
        return -float(np.average(paid, weights=weight))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what this estimator asks for and what it passes on to the inner fit."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        if isinstance(self.costs, CostMatrix) and self.costs.shape[1] == 2:
            tags.classifier_tags.multi_class = False
        return tags

    def _inner_params(
        self, sample_weight: ArrayLike | None, params: dict[str, Any]
    ) -> dict[str, Any]:
        from sklearn.utils._metadata_requests import _routing_enabled

        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        if _routing_enabled():
            return dict(process_routing(self, "fit", **params).estimator.fit)
        if sample_weight is not None and not has_fit_parameter(self.estimator_, "sample_weight"):
            raise UsageError(
                "{estimator}.fit takes no sample_weight.",
                code="no-sample-weight",
                estimator=type(self.estimator_).__name__,
                remedy="For a pipeline pass STEP__sample_weight=, or turn metadata routing on.",
            )
        return params

    def _check_costs(self, costs: CostMatrix | None, names: list[Name]) -> None:
        """Say now, and not at prediction, what does not fit the classes."""
        _ = self.costs_  # refuses classes that the costs do not have
        alphabet = isinstance(names[0], str)  # which does not tell negative from positive
        if costs is not None and costs.positional and alphabet and order_matters(costs):
            warn_user(
                "The costs name no classes: their columns are taken as {names}, in this sorted "
                "order, and with false_alarm and miss the event is {event!r}.",
                code="unnamed-classes",
                names=names,
                event=names[-1],
                classes=Argument("classes", ("negative", "positive")),
                remedy="Give the costs {classes}.",
            )

    def _given_costs(self) -> CostMatrix | None:
        if isinstance(self.costs, (str, os.PathLike)):
            raise UsageError(
                "{costs} is a file, which may change under a fitted model.",
                code="costs-type",
                costs=Argument("costs", os.fspath(self.costs)),
                remedy="Read it first, CostMatrix.read(path).",
            )
        costs = None if self.costs is None else as_costs(self.costs)
        if costs is not None and costs.n_rows is not None:
            raise UsageError(
                "{argument} has one cost for each of {rows:,} rows, and would be used for any rows "
                "at prediction.",
                code="costs-per-row",
                argument=Argument("costs"),
                rows=costs.n_rows,
                remedy="Name a column in their place, such as miss='amount', and pass its values "
                "with the rows: predict_action(X, amounts=...).",
            )
        return costs

    def _costs_of(self, X: ArrayLike | Rows, amounts: Table) -> CostMatrix:
        """The costs with the amounts of these rows."""
        costs = self.costs_
        if amounts is not None and not costs.columns:
            raise UsageError(
                "{amounts} was given, and the costs name no column.",
                code="unused-argument",
                amounts=Argument("amounts"),
                remedy="Leave it out.",
            )
        if costs.columns:
            if amounts is None and not hasattr(X, "columns"):
                raise UsageError(
                    "The costs name {names}, and there are no {amounts}.",
                    code="unbound-column",
                    names=", ".join(map(repr, costs.columns)),
                    amounts=Argument("amounts"),
                    remedy="Pass {amounts}: a table with these columns, or an array with one "
                    "column for each.",
                )
            table = X if amounts is None else amounts
            costs = costs.bind(table)
            refuse_other_index(X=X, amounts=costs)
        return costs

    def _codes(self, y: ArrayLike, n_rows: int) -> NDArray[np.intp]:
        """Position of each outcome among the classes."""
        codes = encode_labels(y, self.classes_.tolist(), "y", "the classes")
        refuse_length(codes, n_rows, "y")
        if (codes < 0).any():
            raise DataError(
                "{argument} has no class at row {row:,}, and a cost needs the outcome.",
                code="missing-label",
                argument=Argument("y"),
                row=int(np.argmax(codes < 0)),
                remedy="Leave such rows out.",
            )
        return codes

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        if not hasattr(self, "classes_"):
            return
        classes = self.classes_.tolist()
        if classes != np.asarray(self.estimator_.classes_).tolist():
            raise DataError("classes_ are not those of the inner model.", code="inconsistent-model")
        costs = None if self.costs is None else as_costs(self.costs)  # of rows too, in older files
        if costs is not None and costs.shape[1] != len(classes):
            raise DataError(
                "The costs are for another number of classes than the model's.",
                code="inconsistent-model",
            )
        held = getattr(self, "base_rates_", None)
        if held is not None and (
            np.shape(held) != (2, len(classes)) or not ((held >= 0) & (held <= 1)).all()
        ):
            raise inconsistent_model("base_rates_", "must be two rows of shares of the classes")
