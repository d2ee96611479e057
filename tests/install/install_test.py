"""Installs the build to a temporary prefix, then builds programs against it and runs them: the
examples of docs/library.md, and one that must find the rules of the package."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent

# Words that each program must print.
EXPECTED = {
    "optimize": ["operators instead of", "x one_relu_behind_concat"],
    "verify": ["matmul_is_associative: proved", "matmul_commutes: refuted"],
    "generate": ["rule add_as_add_", "proof all-sizes"],
    "rules": ["/prefix/share/soapstone/rules"],
}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def main():
    build_dir = Path(os.environ["BUILD_DIR"])
    if not list(build_dir.glob("jobs/libsoapstone_jobs_optimize.a")):
        print("soapstone_jobs is not built")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        prefix, clients = Path(temporary, "prefix"), Path(temporary, "clients")
        environment = os.environ | {"XDG_CACHE_HOME": temporary}
        environment.pop("SOAPSTONE_RULES_DIR", None)
        run("cmake", "--install", build_dir, "--prefix", prefix, stdout=subprocess.DEVNULL)
        run("cmake", "-S", HERE, "-B", clients, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", clients)
        for client, expected in EXPECTED.items():
            shown = run(clients / client, cwd=temporary, env=environment, text=True,
                        stdout=subprocess.PIPE).stdout
            print(f"--- {client}\n{shown}")
            for words in expected:
                assert words in shown, f"{client} does not print '{words}'"
        assert Path(temporary, "faster.onnx").stat().st_size > 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
