#!/usr/bin/env python3
"""Training steps of a small GPT on ours, on SDPA and on compiled FlexAttention: the same model from the same start on the same
tokens, one step of each in turn in one process.

usage: gpt_step.py [--json FILE] [--masks causal,documents] [--steps N] [--rows N] [--batch N] [--layers N] [--heads N] [--head-dim N]
                   [--device cuda] [--dtype bfloat16]

A step is forward, loss, backward and AdamW. TFLOP/s count the matrix products of the model, forward once and backward twice, and
those of attention on live pairs, forward once and backward 2.5 times. Rows of FILE: mask, implementation, median and quartiles of
a step in ms, TFLOP/s, tokens a second, the loss after all steps, machine, versions, command.
"""
import argparse
import copy
import json
import pathlib
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import flex_attention as flex

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import interleaved
from tilewright import torch as ours

VOCABULARY = 50304
DOCUMENTS = 12
WARM_STEPS = 3


class Block(nn.Module):
    def __init__(self, heads, head_dim):
        super().__init__()
        width = heads * head_dim
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.join = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.widen, self.narrow = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x, attend):
        batch, rows, width = x.shape
        query, key, value = self.project(self.before(x)).view(batch, rows, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.join(attend(query, key, value).transpose(1, 2).reshape(batch, rows, width))
        return x + self.narrow(F.gelu(self.widen(self.between(x))))


class Gpt(nn.Module):
    def __init__(self, options):
        super().__init__()
        width = options.heads * options.head_dim
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(options.rows, width)
        self.blocks = nn.ModuleList(Block(options.heads, options.head_dim) for _ in range(options.layers))
        self.last = nn.LayerNorm(width)
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)

    def forward(self, tokens, attend):
        x = self.tokens(tokens) + self.places.weight
        for block in self.blocks:
            x = block(x, attend)
        return self.last(x) @ self.tokens.weight.T

    def product_flops(self, tokens):
        """Multiply-adds, twice, of a forward, without attention."""
        return 2 * tokens * sum(w.numel() for name, w in self.named_parameters() if w.dim() == 2 and "places" not in name)


def document_ids(rows, device):
    cuts = torch.arange(rows, device=device) * DOCUMENTS // rows
    return cuts.to(torch.int32)


def attentions(mask, rows, device):
    """Implementation -> attention on [batch, heads, rows, head dim]; and the live pairs of a head."""
    document = document_ids(rows, device)
    causal = lambda b, h, q, kv: q >= kv
    same = lambda b, h, q, kv: (document[q] == document[kv]) & (q >= kv)
    mod = causal if mask == "causal" else same
    index = torch.arange(rows, device=device)
    keep = mod(0, 0, index[:, None], index[None, :])
    dense = None if mask == "causal" else keep
    blocks = flex.create_block_mask(mod, None, None, rows, rows, device=device)
    compiled = torch.compile(flex.flex_attention, dynamic=False)
    found = {
        "tilewright": lambda q, k, v: ours.flex_attention(q, k, v, mask_mod=mod),
        "sdpa": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=dense, is_causal=dense is None),
        "flex": lambda q, k, v: compiled(q, k, v, block_mask=blocks),
    }
    return found, int(keep.sum())


class Training:
    def __init__(self, model, attend):
        self.model, self.attend = model, attend
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)

    def step(self, tokens):
        logits = self.model(tokens[:, :-1], self.attend)
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.detach()


class Clock:
    """Milliseconds of each call, by the device's own clock where there is one."""

    def __init__(self, device):
        self.on_gpu, self.pairs = device == "cuda", []

    def time(self, call):
        if not self.on_gpu:
            begin = time.perf_counter()
            result = call()
            self.pairs.append(1e3 * (time.perf_counter() - begin))
            return result
        pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        pair[0].record()
        result = call()
        pair[1].record()
        self.pairs.append(pair)
        return result

    def quartiles(self):
        if self.on_gpu:
            torch.cuda.synchronize()
        ms = sorted(p[0].elapsed_time(p[1]) if self.on_gpu else p for p in self.pairs)
        return ms[len(ms) // 2], ms[len(ms) // 4], ms[3 * len(ms) // 4]


def measure(options, mask):
    device, dtype = options.device, getattr(torch, options.dtype)
    torch.manual_seed(1)
    first = Gpt(options).to(device, dtype)
    found, pairs = attentions(mask, options.rows, device)
    runs = {name: Training(copy.deepcopy(first), attend) for name, attend in found.items()}
    draw = torch.Generator(device=device).manual_seed(2)
    batches = [torch.randint(0, VOCABULARY, (options.batch, options.rows + 1), device=device, generator=draw)
               for _ in range(options.steps + WARM_STEPS)]
    clocks, losses = {name: Clock(device) for name in runs}, {}
    for number, tokens in enumerate(batches):
        for name, run in list(runs.items()):
            try:
                step = lambda run=run, tokens=tokens: run.step(tokens)
                losses[name] = clocks[name].time(step) if number >= WARM_STEPS else step()
            except Exception as error:  # an implementation's refusal is a result
                print(f"  {mask}: no {name}: {type(error).__name__}: {str(error).splitlines()[0][:160]}", flush=True)
                del runs[name]
    tokens = options.batch * options.rows
    attention = 4 * options.batch * options.heads * options.head_dim * pairs * options.layers
    flops = 3 * first.product_flops(tokens) + 3.5 * attention
    for name in runs:
        median, low, high = clocks[name].quartiles()
        yield dict(kind="gpt_step", mask=mask, impl=name, layers=options.layers, heads=options.heads, head_dim=options.head_dim,
                   rows=options.rows, batch=options.batch, dtype=options.dtype, ms=round(median, 3), ms_q1=round(low, 3),
                   ms_q3=round(high, 3), tflops=round(flops / median / 1e9, 2), tokens_per_second=round(1e3 * tokens / median),
                   attention_share_of_flops=round(3.5 * attention / flops, 3), loss=round(float(losses[name]), 5))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("--masks", default="causal,documents")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", default="bfloat16")
    options = parser.parse_args()
    on_gpu = options.device == "cuda"
    context = dict(machine=interleaved.machine() if on_gpu else {"cpu_threads": torch.get_num_threads()},
                   versions=interleaved.versions(), command=" ".join(sys.argv))
    for mask in options.masks.split(","):
        for line in measure(options, mask):
            print(f"{line['mask']:10s} {line['impl']:11s} {line['ms']:9.2f} ms a step (quartiles {line['ms_q1']:.2f} to "
                  f"{line['ms_q3']:.2f})  {line['tflops']:8.2f} TFLOP/s  {line['tokens_per_second']:9d} tokens/s  loss {line['loss']}",
                  flush=True)
            if options.json:
                with open(options.json, "a") as record:
                    record.write(json.dumps(line | context) + "\n")


if __name__ == "__main__":
    main()
