"""Which device is meant where none, or only its kind, is named."""

from __future__ import annotations

import torch


def default_device() -> torch.device:
    """The accelerator where there is one that tilewright serves, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def indexed(device: torch.device) -> torch.device:
    """The device with its number: "cuda" means the current one."""
    if device.type != "cuda" or device.index is not None or not torch.cuda.is_available():
        return device
    return torch.device("cuda", torch.cuda.current_device())
