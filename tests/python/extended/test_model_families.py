"""Small random models of the families whose attention differs: window, soft cap, sinks, padding, caches."""

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

SMALL = dict(
    vocab_size=97, hidden_size=96, intermediate_size=96, num_hidden_layers=2, num_attention_heads=6,
    num_key_value_heads=2, head_dim=16, max_position_embeddings=256, attention_dropout=0.0,
    pad_token_id=0, bos_token_id=1, eos_token_id=None,
)  # fmt: skip
CONFIGS = {
    "llama": lambda: transformers.LlamaConfig(**SMALL),
    "mistral, window 7": lambda: transformers.MistralConfig(**SMALL, sliding_window=7),
    "gemma2, soft cap and window 5": lambda: transformers.Gemma2Config(
        **SMALL, sliding_window=5, attn_logit_softcapping=1.5, query_pre_attn_scalar=16
    ),
    "gpt_oss, sinks and window 6": lambda: transformers.GptOssConfig(
        **SMALL, sliding_window=6, num_local_experts=2, num_experts_per_tok=1
    ),
}


def made(name):
    torch.manual_seed(3)
    model = transformers.AutoModelForCausalLM.from_config(CONFIGS[name](), attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Large enough for scores that softmax, caps and sinks tell apart.
            parameter.normal_(0, 0.3 if parameter.dim() > 1 else 0.5)
    return model


def batch(lengths=(23, 14), side="left"):
    ids = torch.randint(3, 97, (len(lengths), max(lengths)))
    live = torch.ones_like(ids)
    for row, length in enumerate(lengths):
        gap = max(lengths) - length
        live[row, :gap] = 0 if side == "left" else 1
        if side == "right" and gap:
            live[row, -gap:] = 0
    return {"input_ids": ids * live, "attention_mask": live}


def run(model, implementation, **inputs):
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        return model(**inputs).logits


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", CONFIGS)
def test_logits_equal_eager(name, side, implementation):
    model, inputs = made(name), batch(side=side)
    live = inputs["attention_mask"].bool()
    ours, eager = (run(model, impl, **inputs)[live] for impl in (implementation, "eager"))
    assert (ours - eager).abs().max() <= 2e-5 * eager.abs().max()


@pytest.mark.parametrize("name", CONFIGS)
def test_gradients_equal_eager(name, implementation):
    model, ids = made(name).train(), batch((17, 17))["input_ids"]
    found = {}
    for impl in (implementation, "eager"):
        model.set_attn_implementation(impl)
        model.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        found[impl] = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    assert found[implementation].keys() == found["eager"].keys()
    for parameter, eager in found["eager"].items():
        error = (found[implementation][parameter] - eager).abs().max()
        assert error <= 2e-4 * eager.abs().max() + 1e-8, parameter


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", ["llama", "mistral, window 7", "gemma2, soft cap and window 5"])
def test_generation_equals_eager(name, cache, implementation):
    model, inputs = made(name), batch((11, 6))
    kind = {} if cache == "dynamic" else {"cache_implementation": "static", "disable_compile": True}
    written = {}
    for impl in (implementation, "eager"):
        model.set_attn_implementation(impl)
        written[impl] = model.generate(**inputs, max_new_tokens=12, do_sample=False, **kind)
    assert torch.equal(written[implementation], written["eager"])


def test_packed_sequences_with_a_window(implementation):
    model = made("mistral, window 7")
    parts = [torch.randint(3, 97, (1, n)) for n in (9, 15, 4)]
    positions = torch.cat([torch.arange(p.shape[1]) for p in parts])[None]
    packed = run(model, implementation, input_ids=torch.cat(parts, 1), position_ids=positions, use_cache=False)
    alone = torch.cat([run(model, "eager", input_ids=p) for p in parts], 1)
    assert (packed - alone).abs().max() <= 2e-5 * alone.abs().max()


def test_custom_masks(implementation):
    model, ids = made("llama"), batch((12, 12))["input_ids"]
    keep = torch.rand(2, 1, 12, 12) < 0.6
    keep |= torch.eye(12, dtype=torch.bool)
    added = torch.where(keep, 0.0, torch.finfo(torch.float32).min)
    eager = run(model, "eager", input_ids=ids, attention_mask=added)
    for mask in (keep, added):
        ours = run(model, implementation, input_ids=ids, attention_mask=mask)
        assert (ours - eager).abs().max() <= 2e-5 * eager.abs().max()


def test_a_compiled_model(implementation):
    model, ids = made("gemma2, soft cap and window 5"), batch((16, 16))["input_ids"]
    eager = run(model, "eager", input_ids=ids, use_cache=False)
    model.set_attn_implementation(implementation)
    with torch.no_grad():
        ours = torch.compile(model, backend="aot_eager", fullgraph=True)(input_ids=ids, use_cache=False).logits
    assert (ours - eager).abs().max() <= 2e-5 * eager.abs().max()


def test_dropout_and_probabilities_are_refused(implementation):
    import tilewright

    model = made("llama")
    model.set_attn_implementation(implementation)
    with pytest.raises(tilewright.UnsupportedError, match="never materialised"):
        model(input_ids=torch.ones(1, 4, dtype=torch.long), output_attentions=True)
    model.model.layers[0].self_attn.attention_dropout = 0.1
    with pytest.raises(tilewright.UnsupportedError, match="dropout"):
        model.train()(input_ids=torch.ones(1, 4, dtype=torch.long))


def test_a_causal_layer_without_a_mask_stays_causal(implementation):
    import tilewright
    from tilewright.transformers import attention

    layer = torch.nn.Module()
    layer.is_causal = True
    query, key = torch.randn(1, 4, 9, 16), torch.randn(1, 2, 9, 16)
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, key, is_causal=True, enable_gqa=True)
    out, _ = attention(layer, query, key, key, None)
    assert (out.transpose(1, 2) - wanted).abs().max() < 1e-5
    with pytest.raises(tilewright.InvalidArgumentError, match="got no mask"):
        attention(layer, query, torch.randn(1, 2, 12, 16), torch.randn(1, 2, 12, 16), None)
    one = query[:, :, :1]
    out, _ = attention(layer, one, key, key, None)
    wanted = torch.nn.functional.scaled_dot_product_attention(one, key, key, enable_gqa=True)
    assert (out.transpose(1, 2) - wanted).abs().max() < 1e-5
