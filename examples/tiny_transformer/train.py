"""A character-level transformer trained on the CPU: window, ALiBi and packed documents in one attention.

Run: .venv/bin/python examples/tiny_transformer/train.py [--steps 2000] [--alone]

Each step packs pieces of seven sonnets into one sequence. A character sees the last 32 of its own piece,
and less of what is far away. The mask's document table is another tensor at every step, and nothing is
compiled again. Beside it the same model is trained in fp64 with dense attention, from the same start on the
same pieces; at the end their losses are compared. `--alone` leaves that out.
"""

import argparse
import copy
import sys
import time
from pathlib import Path

import torch
from torch import nn

import tilewright
from tilewright.torch import flex_attention

LENGTH, WINDOW, HEADS, WIDTH, LAYERS = 256, 32, 4, 64, 2
TEXT = Path(__file__).with_name("sonnets.txt").read_text()
LETTERS = sorted(set(TEXT))
CODES = torch.tensor([LETTERS.index(c) for c in TEXT])


def alibi(score, b, h, q, kv):
    return score + (kv - q) * torch.exp2(-8.0 * (h + 1) / HEADS)


def visible(document):
    return lambda b, h, q, kv: (document[q] == document[kv]) & (q >= kv) & (q - kv < WINDOW)


def fused(query, key, value, document):
    return flex_attention(query, key, value, alibi, mask_mod=visible(document))


def dense(query, key, value, document):
    """The same by plain operations, every pair in memory."""
    heads = torch.arange(HEADS)[:, None, None]
    q, kv = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)
    score = alibi(query @ key.mT / query.size(-1) ** 0.5, 0, heads, q, kv)
    return score.masked_fill(~visible(document)(0, heads, q, kv), -torch.inf).softmax(-1) @ value


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.join = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, attend, document):
        parts = self.project(self.before(x)).view(1, LENGTH, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        x = x + self.join(attend(query, key, value, document).transpose(1, 2).reshape(1, LENGTH, WIDTH))
        return x + self.mix(self.between(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        self.guess = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, letters, attend, document):
        x = self.letters(letters)[None]
        for layer in self.layers:
            x = layer(x, attend, document)
        return self.guess(self.last(x))[0]


def packed_pieces(draw):
    """Letters [LENGTH], the letters that follow them, and the piece of each position."""
    letters, document = torch.empty(LENGTH + 1, dtype=torch.long), torch.empty(LENGTH, dtype=torch.int32)
    wanted = torch.empty(LENGTH, dtype=torch.long)
    begin, piece = 0, 0
    while begin < LENGTH:
        length = min(int(torch.randint(40, 160, (), generator=draw)), LENGTH - begin)
        at = int(torch.randint(0, len(CODES) - length - 1, (), generator=draw))
        letters[begin : begin + length] = CODES[at : at + length]
        wanted[begin : begin + length] = CODES[at + 1 : at + length + 1]
        document[begin : begin + length] = piece
        begin, piece = begin + length, piece + 1
    return letters[:LENGTH], wanted, document


class Training:
    """One model and how it attends; `losses` of its steps."""

    def __init__(self, model, attend):
        self.model, self.attend = model, attend
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
        self.losses, self.seconds = [], 0.0

    def step(self, letters, wanted, document):
        begin = time.perf_counter()
        loss = nn.functional.cross_entropy(self.model(letters, self.attend, document), wanted)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.losses.append(loss.item())
        self.seconds += time.perf_counter() - begin

    def late_loss(self):
        """Mean of the last tenth."""
        late = self.losses[-max(1, len(self.losses) // 10) :]
        return sum(late) / len(late)


def train(steps, alone=False, report=lambda line: None):
    """The fused training, and the dense one beside it unless `alone`."""
    torch.manual_seed(1)
    model = Model()
    runs = [Training(model, fused)]
    if not alone:
        runs.append(Training(copy.deepcopy(model).double(), dense))
    draw = torch.Generator().manual_seed(2)
    for step in range(1, steps + 1):
        pieces = packed_pieces(draw)
        for run in runs:
            run.step(*pieces)
        if step % max(1, steps // 10) == 0:
            report(f"step {step:5}  loss " + "  ".join(f"{run.late_loss():.4f}" for run in runs))
    return runs


def main():
    parser = argparse.ArgumentParser(description="trains a character-level transformer on seven sonnets")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--alone", action="store_true", help="without the dense fp64 model beside it")
    options = parser.parse_args()
    runs = train(options.steps, options.alone, lambda line: print(line, flush=True))
    compiled = tilewright.stats()["compiles"]
    print(f"tilewright, f32: loss {runs[0].late_loss():.4f} in {runs[0].seconds:.0f} s, {compiled} programs compiled")
    if not options.alone:
        apart = abs(runs[0].late_loss() / runs[1].late_loss() - 1)
        print(f"dense, fp64:     loss {runs[1].late_loss():.4f} in {runs[1].seconds:.0f} s; {100 * apart:.2f} % apart")
        if apart > 0.01:
            sys.exit("the losses are more than 1 % apart")


if __name__ == "__main__":
    main()
