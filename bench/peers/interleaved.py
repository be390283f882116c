"""Implementations of one problem timed in turns in one process, and problems shared among worker processes."""
import argparse
import json
import subprocess
import sys
import time

import torch

REPEATS = 15
WARM_SECONDS = 0.2


def quartiles(calls):
    """Name -> (median, first, third quartile) in ms; the L2 cache is flushed before each call."""
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    events = {name: [] for name in calls}
    start = time.time()
    while time.time() - start < WARM_SECONDS:  # sustained load first: clocks settle where power lets them
        for call in calls.values():
            call()
        torch.cuda.synchronize()
    for _ in range(REPEATS):
        for name, call in calls.items():
            flush.zero_()
            pair = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            pair[0].record()
            call()
            pair[1].record()
            events[name].append(pair)
    torch.cuda.synchronize()
    result = {}
    for name, pairs in events.items():
        ms = sorted(a.elapsed_time(b) for a, b in pairs)
        result[name] = (ms[len(ms) // 2], ms[len(ms) // 4], ms[3 * len(ms) // 4])
    return result


def prepared(makers):
    """Callables that ran once, and why the others did not."""
    calls, reasons = {}, {}
    for name, make in makers.items():
        try:
            call = make()
            if call is not None:
                call()
                torch.cuda.synchronize()
                calls[name] = call
        except Exception as error:  # a peer's refusal is a result, whatever its type
            reasons[name] = f"{type(error).__name__}: {error}".strip().splitlines()[0][:160]
    return calls, reasons


def versions():
    found = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "cuda": torch.version.cuda}
    try:
        import importlib.metadata as metadata

        for name in ("triton", "flash-attn-4", "nvidia-cutlass-dsl"):
            found[name] = metadata.version(name)
    except Exception:  # not installed: the table says so by its absence
        pass
    return found


def machine():
    found = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True)
    return {"gpu": torch.cuda.get_device_name(), "driver": found.stdout.strip()}


def record(arguments, shapes, lines_of, printed):
    """Measures this worker's part of `shapes`: lines_of(shape, lock) yields rows, which go to the file with the machine's facts."""
    index, count = (int(n) for n in arguments.part.split("/"))
    context = dict(machine=machine(), versions=versions(), command=arguments.command)
    with open(arguments.json + ".lock", "w") as lock, open(arguments.json, "a") as rows:
        for shape in shapes[index::count]:
            for line in lines_of(shape, lock):
                rows.write(json.dumps(line | context) + "\n")
                rows.flush()
                printed(line)


def run(script, tables, peers, work):
    """The command line of a table of peers: work(arguments), in as many processes as --workers says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--json", required=True)
    parser.add_argument("--tables", default=",".join(tables), help="of " + ",".join(tables))
    parser.add_argument("--peers", default=peers)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--part", help="i/n: every n-th problem, from the i-th; what workers are started with")
    parser.add_argument("--command", default=" ".join(sys.argv))
    arguments = parser.parse_args()
    if arguments.part or arguments.workers == 1:
        arguments.part = arguments.part or "0/1"
        return work(arguments)
    options = ["--library", arguments.library, "--json", arguments.json, "--tables", arguments.tables, "--peers",
               arguments.peers, "--command", arguments.command]
    parts = [subprocess.Popen([sys.executable, script, *options, "--part", f"{i}/{arguments.workers}"])
             for i in range(arguments.workers)]
    sys.exit(max(part.wait() for part in parts))
