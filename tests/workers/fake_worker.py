"""A worker that speaks the protocol and misbehaves as its first argument says: `none`, or
VERB:FAULT, for each request with that verb; `once:VERB:FAULT` in the first process alone; `chaos`
ends each process within a millisecond of one of its first 24 requests, another one each time. The second argument is a file that counts processes.

It doubles what it is given; all its times are the sum of the inputs that were prepared."""

import array
import json
import os
import signal
import sys
import time

faulty_verb, fault, counter = "", sys.argv[1], sys.argv[2]
processes = 1 + (int(open(counter).read()) if os.path.exists(counter) else 0)
with open(counter, "w") as file:
    file.write(str(processes))
if fault.startswith("once:"):
    fault = fault[5:] if processes == 1 else "none"
if ":" in fault:
    faulty_verb, fault = fault.split(":")


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def refuse(request, kind, message):
    say(json.dumps({"id": request["id"], "error": {"kind": kind, "message": message}}) + "\n")


def break_process(request):
    """Whether the fault is one that any verb can have."""
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "exit":
        print("something is wrong with me", file=sys.stderr, flush=True)
        sys.exit(3)
    elif fault in ("hang", "silent"):  # who starts the one that hangs waits for it but shortly
        time.sleep(1000)
    elif fault == "half":
        say('{"id": ')
        sys.exit(0)
    elif fault == "garbage":
        print("I was told to say so", file=sys.stderr, flush=True)
        say("Segmentation fault? No, just chatting.\n")
    elif fault == "deep":
        say("[" * 1_000_000 + "\n")
    elif fault == "huge":
        say("x" * 3_000_000 + "\n")
    elif fault == "memory":
        refuse(request, "memory", "bad_alloc")
    elif fault == "refuse":
        refuse(request, "runtime", "no kernel")
    else:
        return False
    return True


def link(folder, answer, target):
    os.symlink(target, os.path.join(folder, "link.bin"))
    answer.update(file="link.bin")


def break_run(folder, result):
    output = result["outputs"][0]
    changes = {
        "no_list": lambda: result.update(outputs={"a": 1}),
        "longer_dims": lambda: output.update(dims=[5]),
        "huge_dims": lambda: output.update(dims=[2**62, 2**62]),
        "negative_dims": lambda: output.update(dims=[-3]),
        "real_dims": lambda: output.update(dims=[3.5]),
        "no_dims": lambda: output.pop("dims"),
        "unknown_type": lambda: output.update(type="f7"),
        "wider_type": lambda: output.update(type="f64"),
        "string_type": lambda: output.update(type="string"),
        "number_name": lambda: output.update(name=7),
        "other_folder": lambda: output.update(file="../../etc/passwd"),
        "absent_file": lambda: output.update(file="absent.bin"),
        "link": lambda: link(folder, output, "/etc/hostname"),
    }
    changes[fault]()


def break_time(result):
    samples = result["samples"]
    wall, cpu = samples[0]["wall_us"], samples[0]["cpu_us"]
    changes = {
        "nan": lambda: wall.__setitem__(0, float("nan")),
        "infinite": lambda: cpu.__setitem__(1, float("inf")),
        "negative": lambda: cpu.__setitem__(2, -1.0),
        "zero": lambda: wall.__setitem__(0, 0),
        "text": lambda: wall.__setitem__(0, "7"),
        "too_few": lambda: (wall.pop(), cpu.pop()),
        "too_many": lambda: (wall.append(1), cpu.append(1)),
        "uneven": lambda: cpu.pop(),
        "model_less": lambda: samples.pop(),
        "no_samples": lambda: result.pop("samples"),
        "no_wall": lambda: samples[0].pop("wall_us"),
        "list_of_lists": lambda: samples.__setitem__(0, [wall, cpu]),
    }
    changes[fault]()


def break_profile(folder, result, profile):
    kernel = profile["kernels"][0]
    changes = {
        "nan": lambda: kernel.update(us=float("nan")),
        "negative": lambda: kernel.update(us=-0.5),
        "no_time": lambda: kernel.pop("us"),
        "no_name": lambda: kernel.pop("name"),
        "number_input": lambda: kernel.update(inputs=[7]),
        "no_outputs": lambda: kernel.update(outputs=None),
        "number_kernel": lambda: profile.update(kernels=[1]),
        "no_kernels": lambda: profile.pop("kernels"),
        "no_total": lambda: profile.pop("total_us"),
        "negative_cpu": lambda: profile.update(total_cpu_us=-1),
        "zero_total": lambda: profile.update(total_us=0),
        "other_folder": lambda: result.update(file="../profile.json"),
        "absent_file": lambda: result.update(file="absent.json"),
        "link": lambda: link(folder, result, "/etc/hostname"),
        "deep_file": lambda: profile.update(kernels="DEEP"),
        "huge_file": lambda: profile.update(kernels=["x" * 40_000_000]),
    }
    changes[fault]()


def read(request):
    with open(os.path.join(request["folder"], request["inputs"][0]["file"]), "rb") as file:
        return array.array("f", file.read())


def write(request, name, contents):
    with open(os.path.join(request["folder"], name), "wb") as file:
        file.write(contents)


prepared = {}
models = requests = 0
for line in sys.stdin:
    request = json.loads(line)
    requests += 1
    if fault == "chaos" and requests == 1 + processes * 7 % 24:
        # The default action for this signal is to end, whatever the process is doing.
        signal.setitimer(signal.ITIMER_REAL, (1 + processes * 104729 % 1000) * 1e-6)
    verb, result, profile = request["verb"], {}, None
    is_faulty = verb == faulty_verb
    if is_faulty and break_process(request):
        continue
    if verb == "hello":
        result = {"protocol": 2, "runtime": "Fake", "version": "1.0", "providers": ["CPU"]}
    elif verb == "load":
        models += 1
        result = {"model": models}
    elif verb == "run":
        doubled = array.array("f", [2 * value for value in read(request)])
        write(request, "out0.bin", doubled.tobytes())
        result = {"outputs": [{"name": "y", "type": "f32", "dims": [len(doubled)],
                               "file": "out0.bin"}]}
    elif verb == "prepare":
        prepared[request["model"]] = sum(read(request))
    elif verb == "time":
        times = [[prepared[model]] * request["rounds"] for model in request["models"]]
        result = {"samples": [{"wall_us": list(us), "cpu_us": list(us)} for us in times]}
    elif verb == "profile":
        us = prepared[request["model"]]
        profile = {"total_us": us, "total_cpu_us": us,
                   "kernels": [{"name": "twice", "op": "Mul", "inputs": ["x", "two"],
                                "outputs": ["y"], "origins": ["a", "b"], "us": us}]}
        result = {"file": "profile.json"}
    if is_faulty:
        if fault == "other_id":
            request["id"] += 1
        elif verb == "run":
            break_run(request["folder"], result)
        elif verb == "time":
            break_time(result)
        elif verb == "profile":
            break_profile(request["folder"], result, profile)
    if profile:
        text = json.dumps(profile).replace('"DEEP"', "[" * 10_000_000)
        write(request, "profile.json", text.encode())
    say(json.dumps({"id": request["id"], "ok": result}) + "\n")
