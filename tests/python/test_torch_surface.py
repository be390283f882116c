"""Every public name of torch.nn.attention.flex_attention is here, with its parameters: a name or a
parameter that PyTorch adds fails these tests until it is served."""

import inspect
import typing

import pytest
import torch
from torch.nn.attention import flex_attention as theirs

import tilewright.torch as ours

FUNCTIONS = [name for name in theirs.__all__ if inspect.isfunction(getattr(theirs, name))]
METHODS = [
    name
    for name, value in vars(theirs.BlockMask).items()
    if (not name.startswith("_") or name in ("__init__", "__getitem__", "_adjust"))
    and callable(getattr(theirs.BlockMask, name))
]
# Fields that torch's class declares: the lists, lengths and the mask_mod.
FIELDS = [name for name in typing.get_type_hints(theirs.BlockMask) if not name.startswith("_")]


def method(kind, name):
    """A method of the class itself: one that ours inherited would read fields that are not there."""
    found = vars(kind)[name]
    return inspect.unwrap(getattr(found, "__func__", found))


def compare(mine, other):
    """Their parameters in their places with their defaults; what is ours alone comes by keyword."""
    mine, other = (inspect.signature(f).parameters for f in (mine, other))
    places = [p.name for p in mine.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    for place, parameter in enumerate(other.values()):
        got = mine.get(parameter.name)
        assert got is not None, f"no parameter {parameter.name}"
        assert got.kind is parameter.kind, parameter.name
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            assert places[place] == parameter.name
        if parameter.default is not parameter.empty:
            same = got.default is ours.noop_mask if callable(parameter.default) else None
            assert same or got.default == parameter.default, parameter.name
    extra = [p for name, p in mine.items() if name not in other]
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in extra)


def test_there_is_something_to_compare():
    assert {"flex_attention", "create_block_mask", "and_masks", "noop_mask"} <= set(FUNCTIONS)
    assert {"from_kv_blocks", "as_tuple", "to_dense", "__init__", "_adjust"} <= set(METHODS)
    assert {"kv_num_blocks", "seq_lengths", "mask_mod"} <= set(FIELDS)


@pytest.mark.parametrize("name", theirs.__all__)
def test_every_public_name_is_exported(name):
    assert name in ours.__all__ and hasattr(ours, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_the_same_parameters(name):
    compare(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_a_block_mask_take_the_same_parameters(name):
    compare(method(ours.BlockMask, name), method(theirs.BlockMask, name))


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_a_block_mask_are_there(name):
    mask = ours.create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 300, 300, device="cpu")
    want = theirs.create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 300, 300, device="cpu")
    got, other = getattr(mask, name), getattr(want, name)
    assert type(got) is type(other) or callable(other)
    if isinstance(other, torch.Tensor):
        assert got.dtype == other.dtype and got.shape == other.shape


def test_other_attributes_of_a_block_mask_are_there():
    public = [name for name in dir(theirs.BlockMask) if not name.startswith("_")]
    assert not [name for name in public if not hasattr(ours.BlockMask, name)]


def test_kernel_options_and_aux_have_the_same_keys():
    known, other = ours.FlexKernelOptions.__annotations__, theirs.FlexKernelOptions.__annotations__
    assert not set(other) - set(known)
    for name in ("AuxRequest", "AuxOutput"):
        assert getattr(ours, name)._fields == getattr(theirs, name)._fields
        assert getattr(ours, name)._field_defaults == getattr(theirs, name)._field_defaults


@pytest.mark.parametrize("prefix", ["", "fwd_", "bwd_"])
def test_every_kernel_option_is_accepted_and_noted(prefix):
    query = torch.randn(1, 2, 40, 16, device="cpu")
    plain = ours.flex_attention(query, query, query)
    for name, hint in theirs.FlexKernelOptions.__annotations__.items():
        value = "AUTO" if name == "BACKEND" else 64
        options = {(name if name == "BACKEND" else prefix + name): value}
        assert torch.equal(ours.flex_attention(query, query, query, kernel_options=options), plain), hint
        assert f"{next(iter(options))}={value} has no effect" in ours.explain(
            query, query, query, kernel_options=options, stage="facts"
        )
