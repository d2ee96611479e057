"""Installs the build to a temporary prefix, then configures, builds and runs a client of it."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def run(*command):
    subprocess.run([str(word) for word in command], check=True)


def main():
    build_dir = Path(os.environ["BUILD_DIR"])
    if not list(build_dir.glob("core/libsoapstone_core.a")):
        print("soapstone_core is not built")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        prefix, client = Path(temporary, "prefix"), Path(temporary, "client")
        run("cmake", "--install", build_dir, "--prefix", prefix)
        run("cmake", "-S", HERE, "-B", client, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", client)
        run(client / "client")
    return 0


if __name__ == "__main__":
    sys.exit(main())
