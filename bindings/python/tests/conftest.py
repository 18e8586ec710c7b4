import os

import pytest

import ruvllm


@pytest.fixture(scope="session")
def model():
    with ruvllm.load(os.environ.get("RUVLLM_TEST_MODEL"), n_ctx=512) as loaded:
        yield loaded
