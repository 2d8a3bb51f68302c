"""The small real language model, fetched by the project's own command and served on this machine."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

ASSAY = str(Path(sys.executable).with_name("assay"))
SMALL = "smollm2-135m"


@contextmanager
def served_small_model() -> Iterator[tuple[str, str]]:
    """Yield the address of the model, or an empty one with the reason why it cannot be served."""
    if find_spec("xllamacpp") is None:
        yield "", "xllamacpp is not installed"
        return
    fetched = subprocess.run([ASSAY, "models", "fetch", SMALL], capture_output=True, text=True)
    if fetched.returncode:
        yield "", f"{SMALL} cannot be fetched here: {fetched.stderr.strip()}"
        return
    command = [ASSAY, "models", "serve", SMALL, "--port", "0", "--threads", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip(), "the server did not start"
        finally:
            process.kill()
