"""The JSON of a record: valid by its schema, and true of the record under every vocabulary."""

import copy
import json

import jsonschema
import numpy as np
import pytest

from dpfit import (
    AdaSSP,
    BoostedMean,
    DPGradientDescent,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    TukeyEM,
)
from dpfit.accounting import (
    ApproximateRelease,
    GDPAccountant,
    PrivacyRecord,
    Release,
    gdp_mu,
)

SCHEMA = PrivacyRecord.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
MU = gdp_mu(1.0, 1e-6)
# The names of fields and values in the registry's schema, version of July 2026.
REGISTRY_FIELDS = {
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit",
        "privacy_unit_details",
        "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name",
        "model_name_details",
        "actors",
        "release_type",
        "release_type_details",
        "data_source_type",
        "data_source_type_details",
        "access_type",
        "access_type_details",
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
}
VARIANTS = {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"}


def gaussian(mu, neighbors="add_remove", count=1):
    return Release(
        statistic="gram", sensitivity=2.0, mu=mu / count**0.5, neighbors=neighbors, count=count
    )


def exponential(epsilon, delta):
    return ApproximateRelease(
        mechanism="exponential",
        statistic="model",
        epsilon=epsilon,
        delta=delta,
        neighbors="add_remove",
    )


def mixed():
    other = exponential(0.5, 5e-7)
    mu = GDPAccountant().add(other).gaussian_budget(1.0, 1e-6)
    return PrivacyRecord.from_events([other, gaussian(mu)], epsilon=1.0, delta=1e-6)


RECORDS = {
    "rows": PrivacyRecord.from_events([gaussian(MU)], epsilon=1.0, delta=1e-6),
    "people": PrivacyRecord.from_events(
        [gaussian(MU, "replace")], epsilon=1.0, delta=1e-6, max_rows=3, unit_name="patient"
    ),
    "mu": PrivacyRecord.from_events([gaussian(0.5)], mu=0.5),
    "a seed": PrivacyRecord.from_events([gaussian(0.5, count=4)], mu=0.5, insecure_seed=True),
    "pure": PrivacyRecord.from_events([exponential(1.0, 0.0)], epsilon=1.0, delta=0.0),
    "mixed": mixed(),
}
every = pytest.mark.parametrize("name", RECORDS)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"].keys() == set(SCHEMA["required"])


@every
def test_the_json_of_a_record_is_valid(name):
    record = RECORDS[name]
    plain = json.loads(record.to_json())
    VALIDATOR.validate(plain)
    assert plain["certificate"].keys() == {"nist_sp_800_226", "dp_deployments_registry"}
    assert PrivacyRecord.from_json(record.to_json()) == record


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLinearRegression(),
        PrivateAdditiveRegression(mu=0.5),
        AdaSSP(neighbors="replace"),
        DPGradientDescent(),
        TukeyEM(),
        BoostedMean(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_the_json_of_a_fit_is_valid(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0]
    record = estimator.fit(X[:, :1] if isinstance(estimator, BoostedMean) else X, y).privacy_
    VALIDATOR.validate(json.loads(record.to_json()))


@every
def test_the_schema_describes_every_field(name):
    """A field that is missing, unknown or of another type is found, wherever it is."""
    plain = json.loads(RECORDS[name].to_json())
    paths = list(places(plain))
    assert len(paths) > 40
    for path in paths:
        for change in ("missing", "unknown", "type"):
            changed = copy.deepcopy(plain)
            *parents, last = path
            inner = changed
            for key in parents:
                inner = inner[key]
            if change == "type":
                inner[last] = {"surprise": 1}
            elif isinstance(inner, dict) and change == "missing" and optional(path) is False:
                del inner[last]
            elif isinstance(inner, dict) and change == "unknown":
                inner["surprise"] = 1
            else:
                continue
            assert not VALIDATOR.is_valid(changed), (path, change)


def places(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def optional(path):
    # The registry's parameters are those of the variant.
    return path[-2:-1] == ("privacy_parameters",) and "dp_deployments_registry" in path


@every
def test_the_registry_has_these_fields(name):
    registry = json.loads(RECORDS[name].to_json())["certificate"]["dp_deployments_registry"]
    for part, fields in registry.items():
        assert fields.keys() <= REGISTRY_FIELDS[part]
    assert registry["dp_variant"]["variant_name"] in VARIANTS
    assert registry["privacy_loss"]["privacy_parameters"].keys() <= {"epsilon", "delta", "rho"}


@every
def test_the_certificate_is_true_of_the_record(name):
    record = RECORDS[name]
    certificate = json.loads(record.to_json())["certificate"]
    nist, registry = certificate["nist_sp_800_226"], certificate["dp_deployments_registry"]
    assert nist["privacy_parameters"] == {
        "epsilon": record.epsilon,
        "delta": record.delta,
        "mu": record.mu,
    }
    assert nist["unit_of_privacy"] == record.unit_label == registry["privacy_loss"]["privacy_unit"]
    assert nist["bounds"]["rows_per_unit"] == (record.max_rows or 1)
    assert nist["randomness"]["seeded"] is record.insecure_seed
    text = json.dumps(certificate)
    assert ("NOT PRIVATE" in text) is record.insecure_seed
    assert ("ChaCha20" in text) is not record.insecure_seed
    bounded = nist["neighboring_datasets"]["model"] == "bounded"
    assert bounded is (record.neighbors == "replace")
    stated = registry["privacy_loss"]["privacy_parameters"]
    assert (stated.get("epsilon"), stated.get("delta")) == (record.epsilon, record.delta)
    assert nist["composition"]["releases"] == sum(
        getattr(event, "count", 1) for event in record.events
    )
    for event, bound in zip(record.events, nist["bounds"]["sensitivities"], strict=True):
        assert bound["statistic"] == event.statistic
        assert bound["sensitivity"] == getattr(event, "sensitivity", None)


def test_variants_have_their_names():
    names = {
        name: json.loads(record.to_json())["certificate"]["dp_deployments_registry"]["dp_variant"]
        for name, record in RECORDS.items()
    }
    found = {name: variant["variant_name"] for name, variant in names.items()}
    assert found == {
        "rows": "Approximate DP",
        "people": "Approximate DP",
        "mu": "Custom",
        "a seed": "Custom",
        "pure": "Pure DP",
        "mixed": "Approximate DP",
    }


def test_a_changed_certificate_is_not_read():
    plain = json.loads(RECORDS["rows"].to_json())
    plain["certificate"] = {"nist_sp_800_226": "Perfectly safe."}
    assert PrivacyRecord.from_dict(plain) == RECORDS["rows"]
