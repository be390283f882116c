"""PyTorch's FlexAttention interface over Tilewright: `from tilewright.torch import flex_attention`."""

from .._symbols import register_op
from .._trace import freeze
from . import _ops as _ops
from ._block_mask import BlockMask, noop_mask
from ._entries import flash_attn_func, flash_attn_varlen_func, scaled_dot_product_attention
from ._explain import explain
from ._flex import AuxOutput, AuxRequest, FlexKernelOptions, flex_attention
from ._masks import and_masks, create_block_mask, create_mask, or_masks
from ._patching import Redirected, patch, unpatch

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "Redirected",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "explain",
    "flash_attn_func",
    "flash_attn_varlen_func",
    "flex_attention",
    "freeze",
    "noop_mask",
    "or_masks",
    "patch",
    "register_op",
    "scaled_dot_product_attention",
    "unpatch",
]
