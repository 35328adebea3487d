"""What tests of several sources share."""

import pytest


@pytest.fixture
def threads():
    """Let Dask use the threads of this process, and leave dates what they are."""
    import dask

    with dask.config.set({"scheduler": "threads", "dataframe.convert-string": False}):
        yield
