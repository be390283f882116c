"""The device that the tests of tilewright.torch run on: the CPU, or `pytest --device cuda`.

On a GPU tensors are made there by default, as torch.set_default_device would have it, but without its
function mode, under which calls would take another way.
"""

import os
import warnings

import torch

DEVICE = os.environ.get("TILEWRIGHT_TEST_DEVICE", "cpu")
ON_GPU = DEVICE != "cpu"
# The widest operands, the widest whose captured tensors have gradients, and of these fp32 or narrower.
WIDEST = torch.float32 if ON_GPU else torch.float64
LEARNING = torch.float16 if ON_GPU else torch.float64
SINGLE = torch.float16 if ON_GPU else torch.float32


def make_tensors_there():
    if ON_GPU:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.set_default_tensor_type("torch.cuda.FloatTensor")


def generator(seed):
    return torch.Generator(DEVICE).manual_seed(seed)
