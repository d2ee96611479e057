"""A runtime that runs nothing: what a model takes follows from its operators alone, so whoever asks
twice hears the same. Needs no packages. Arguments: a file that counts its processes, and how it
misbehaves: `none`; VERB:FAULT:N, at requests with that verb, but for the first N of the first process;
`once:VERB:FAULT:N`, likewise in the first process alone; `chaos:SEED`, where each process ends at one
of its requests 8 to 16, as it comes: by then it has done what it was started again for."""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

COSTS_US = {"MatMul": 100, "Add": 1, "Relu": 1, "Concat": 1}
COUNTER, FAULT = Path(sys.argv[1]), sys.argv[2]

processes = 1 + (int(COUNTER.read_text()) if COUNTER.exists() else 0)
COUNTER.write_text(str(processes))
kind, _, rest = FAULT.partition(":")
faulty_verb, fault, spared, last_request, way = "", "", 0, 0, ""
if kind == "once":
    faulty_verb, fault, spared = rest.split(":") if processes == 1 else ("", "", 0)
elif kind == "chaos":
    chance = random.Random(f"{rest} {processes}")
    last_request, way = chance.randint(8, 16), chance.choice(["unheard", "half", "said", "timer"])
elif rest:
    faulty_verb = kind
    fault, spared = rest.split(":")
spared = int(spared) if processes == 1 else 0


def count(data, operator):
    """How many nodes of a file have this type: the field as protobuf writes it."""
    return data.count(b"\x22" + bytes([len(operator)]) + operator.encode())


def time_us(path):
    """Few splits are cheap, many are not: their cost grows with the square of their number."""
    data = Path(path).read_bytes()
    return (sum(us * count(data, operator) for operator, us in COSTS_US.items())
            + 12 * count(data, "Split") ** 2 + 1)


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def end():
    os.kill(os.getpid(), signal.SIGKILL)


def break_process(request):
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "exit":
        print("the license has run out", file=sys.stderr, flush=True)
        sys.exit(3)
    elif fault == "garbage":
        print("I was told to say so", file=sys.stderr, flush=True)
        say("Segmentation fault? No, just chatting.\n")
    elif fault == "hang":
        time.sleep(1000)
    elif fault == "refuse":
        say(json.dumps({"id": request["id"],
                        "error": {"kind": "runtime", "message": "no kernel for Relu"}}) + "\n")


def answer(request, models):
    verb = request["verb"]
    if verb == "hello":
        return {"protocol": 2, "runtime": "Counting", "version": "1.0", "providers": []}
    if verb == "load":
        models.append(time_us(request["path"]))
        return {"model": len(models) - 1}
    if verb == "time":
        times = [[models[number]] * request["rounds"] for number in request["models"]]
        return {"samples": [{"wall_us": us, "cpu_us": us} for us in times]}
    if verb == "profile":
        us = models[request["model"]]
        profile = {"total_us": us, "total_cpu_us": us,
                   "kernels": [{"name": "all", "op": "Everything", "us": us, "inputs": [],
                                "outputs": [], "origins": []}]}
        (Path(request["folder"]) / "profile.json").write_text(json.dumps(profile))
        return {"file": "profile.json"}
    return {}


models = []
for number, line in enumerate(sys.stdin, 1):
    request = json.loads(line)
    is_last = number == last_request
    if is_last and way == "unheard":
        end()
    if is_last and way == "timer":  # Somewhere in what follows.
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 1e-3))
    if request["verb"] == faulty_verb:
        if spared == 0:
            break_process(request)
            continue
        spared -= 1
    text = json.dumps({"id": request["id"], "ok": answer(request, models)}) + "\n"
    if is_last and way == "half":
        say(text[:len(text) // 2])
        end()
    say(text)
    if is_last and way != "timer":
        end()
