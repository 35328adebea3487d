import pytest


@pytest.fixture(scope="session", autouse=True)
def _same_time():
    """Let all fits start at the same time, so that tests can compare models as bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpfit.estimator.utc_now", lambda: "2026-01-31T12:00:00Z")
        yield
