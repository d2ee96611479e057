"""A worker that speaks the protocol and, on the n-th `run` of the process, misbehaves as its first
argument says. The second argument is a file that counts processes: faults of kind `once:…` are those
of the first process alone. It doubles what it is given."""

import json
import os
import signal
import sys
import time
from pathlib import Path

fault, counter = sys.argv[1], Path(sys.argv[2])
processes = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(processes))
if fault.startswith("once:"):
    fault = fault[5:] if processes == 1 else "none"


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def misbehave(request, good):
    output = good["ok"]["outputs"][0]
    folder = Path(request["folder"])
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif fault == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "exit":
        print("something is wrong with me", file=sys.stderr, flush=True)
        sys.exit(3)
    elif fault == "hang":
        time.sleep(1000)
    elif fault == "half":
        say('{"id": ')
        sys.exit(0)
    elif fault == "garbage":
        say("Segmentation fault? No, just chatting.\n")
    elif fault == "huge":
        say("x" * 3_000_000 + "\n")
    elif fault == "memory":
        say(json.dumps({"id": request["id"], "error": {"kind": "memory", "message": "bad_alloc"}})
            + "\n")
    elif fault == "refuse":
        say(json.dumps({"id": request["id"], "error": {"kind": "runtime", "message": "no kernel"}})
            + "\n")
    else:
        changes = {
            "other_id": lambda: good.update(id=request["id"] + 1),
            "no_list": lambda: good["ok"].update(outputs={"a": 1}),
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
            "link": lambda: link(folder, output),
        }
        changes[fault]()
        say(json.dumps(good) + "\n")


def link(folder, output):
    (folder / "link.bin").symlink_to("/etc/hostname")
    output.update(file="link.bin")


for line in sys.stdin:
    request = json.loads(line)
    result = {}
    if request["verb"] == "hello":
        result = {"protocol": 1, "runtime": "Fake", "version": "1.0"}
    elif request["verb"] == "load":
        result = {"model": 42}
    elif request["verb"] == "run":
        import array
        folder, tensor = Path(request["folder"]), request["inputs"][0]
        values = array.array("f", (folder / tensor["file"]).read_bytes())
        (folder / "out0.bin").write_bytes(array.array("f", [2 * v for v in values]).tobytes())
        result = {"outputs": [{"name": "y", "type": "f32", "dims": tensor["dims"],
                               "file": "out0.bin"}]}
    reply = {"id": request["id"], "ok": result}
    if request["verb"] == "run" and fault != "none":
        misbehave(request, reply)
    else:
        say(json.dumps(reply) + "\n")
