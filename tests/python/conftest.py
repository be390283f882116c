"""The Python tests run against the package of the build tree, or of an installed wheel; those of
tilewright.torch on the device that `--device` names."""

import os

import numpy as np
import pytest

try:
    import torch
except ImportError:
    torch = None
    if os.environ.get("CI"):
        raise
    collect_ignore_glob = ["test_torch_*.py"]

# What says something about a GPU. The other files test what never sees a device.
ON_GPUS = (
    "test_reports_calls", "test_reports_captures", "test_reports_gradients", "test_reports_masks",
    "test_torch_autograd", "test_torch_compile", "test_torch_compile_catalogue",
    "test_torch_cuda", "test_torch_decode",
    "test_torch_entries", "test_torch_field_reports", "test_torch_flex", "test_torch_flex_cases",
    "test_torch_learned_bias", "test_torch_mods_of_others", "test_torch_paged", "test_torch_training",
)  # fmt: skip


def pytest_addoption(parser):
    parser.addoption("--device", default=os.environ.get("TILEWRIGHT_TEST_DEVICE", "cpu"))


def pytest_configure(config):
    config.addinivalue_line("markers", "cpu_only(reason): not run with --device cuda")
    os.environ["TILEWRIGHT_TEST_DEVICE"] = config.getoption("--device")
    if torch is not None:
        import devices

        devices.make_tensors_there()


def pytest_collection_modifyitems(config, items):
    if config.getoption("--device") == "cpu":
        return
    for item in items:
        only = item.get_closest_marker("cpu_only")
        if item.module.__name__ not in ON_GPUS:
            item.add_marker(pytest.mark.skip(reason="sees no device"))
        elif only is not None:
            item.add_marker(pytest.mark.skip(reason=only.args[0]))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


if torch is not None:

    @pytest.fixture(autouse=True)
    def seeded():
        torch.manual_seed(7)
