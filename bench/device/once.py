#!/usr/bin/env python3
"""Launches one variant three times on one problem, for a profiler. usage: once.py FOLDER VARIANT ROWS BATCH HEADS"""
import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from driver import Kernel
from problems import Mods

folder, name, rows, batch, heads = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
kernel = Kernel(folder, name)
q, k = (torch.randn(batch, heads, rows, kernel.e, device="cuda").to(kernel.element) for _ in range(2))
v = torch.randn(batch, heads, rows, kernel.v, device="cuda").to(kernel.element)
out, lse = torch.empty_like(v), torch.empty(batch, heads, rows, device="cuda")
mods = Mods(kernel.mods, heads, rows, rows)
launch = kernel.prepare(q, k, v, out, lse, lse, mods.bindings)
for _ in range(3):
    launch()
torch.cuda.synchronize()
