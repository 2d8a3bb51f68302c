"""Time Assay beside its peers: files, dictionaries or preloaded tables in, values of each query out.

Every timing runs in a process of its own. The tools take turns, so that a busy machine is busy for
all of them, and ratios are taken between neighbours. A time counts only if the values agree.
"""

import argparse
import compileall
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import loads
import numpy as np
import report
from loads import Load
from numpy.typing import NDArray
from report import TOLERANCE, Sample
from tools import MEASURES

import assay

HERE = Path(__file__).parent
TOOLS = ("assay", "pytrec_eval", "ranx", "ir_measures")
SECTIONS = tuple(report.TABLES)
MILLIONS = (1.0, 2.0, 3.5, 7.0, 14.0)


@dataclass(frozen=True)
class Case:
    """What is timed: a tool, on a load, in one way."""

    section: str
    load: Load
    tool: str
    way: str


@dataclass
class Bench:
    """Where the loads are, how often each case is timed, and what was measured so far."""

    folder: Path
    reps: int
    samples: list[Sample] = field(default_factory=list)

    def measure(self, cases: Sequence[Case]) -> None:
        """Time the cases in turns."""
        for load in dict.fromkeys(case.load for case in cases):
            self._prepare(load)
        for number, case in product(range(self.reps), cases):
            say(f"{case.section} {number + 1}/{self.reps}: {case.load.name}, {case.tool}")
            self.samples.append(self._sample(case, number))

    def _prepare(self, load: Load) -> None:
        """Make a load, and the values that all tools must agree with."""
        if not load.values(self.folder).exists():
            say(f"making {load.name}")
            loads.make(load, self.folder)
            spawn(Case("", load, "pytrec_eval", "files"), self.folder, load.values(self.folder))

    def _sample(self, case: Case, number: int) -> Sample:
        values = self.folder / "values.npy"
        begun = time.perf_counter()
        found = spawn(case, self.folder, values)
        process = time.perf_counter() - begun
        off = difference(np.load(values), np.load(case.load.values(self.folder)))
        size = case.load.run(self.folder).stat().st_size / 1e6
        return Sample(
            case.section, case.load.name, case.tool, case.way, number, process=process, off=off,
            variant=case.load.variant, rows=case.load.rows, megabytes=size, **found,
        )  # fmt: skip

    def small(self, load: Load) -> None:
        """Time whole processes on a file of everyday size, in turns and often, for they are short."""
        loads.make(load, self.folder)
        commands = whole_processes(load.qrels(self.folder), load.run(self.folder))
        if problem := unlike(commands):
            say(f"small: left out {load.name}: {problem}")
            return
        say(f"small: {load.name}")
        compileall.compile_dir(str(Path(assay.__file__).parent), quiet=1)  # as pip leaves a package
        for number, (tool, command) in product(range(10 * self.reps), commands.items()):
            begun = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            took = time.perf_counter() - begun
            self.samples.append(Sample("small", load.name, tool, "process", number, took, took))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def spawn(case: Case, folder: Path, values: Path) -> dict[str, Any]:
    """Run one timing and give what it printed."""
    files = map(str, (case.load.qrels(folder), case.load.run(folder), values))
    command = [sys.executable, "-W", "ignore", str(HERE / "tools.py"), case.tool, case.way, *files]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{case.tool} failed on {case.load.name}:\n{done.stderr}")
    return dict(json.loads(done.stdout))


def difference(values: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """The largest difference between two tables of values."""
    return float(np.abs(values - expected).max()) if values.shape == expected.shape else float("inf")


def whole_processes(qrels: Path, run: Path) -> dict[str, list[str]]:
    """The command lines that do the same work."""
    chosen = [part for name in MEASURES for part in ("-m", name)]
    plain = [str(Path(sys.executable).with_name("assay")), "eval", str(qrels), str(run), *chosen]
    script = [sys.executable, str(HERE / "pytrec_script.py"), str(qrels), str(run)]
    return {
        "assay eval": plain,
        "assay eval --per-query": [*plain, "--per-query"],
        "pytrec_eval script": script,
    }


def unlike(commands: dict[str, list[str]]) -> str:
    """Why the times of these commands could not be compared, if so."""
    try:
        ours = json.loads(output([*commands["assay eval"], "--format", "json"]))["runs"][0]["mean"]
    except subprocess.CalledProcessError as error:
        return f"assay eval does not work: {error.stderr.strip().splitlines()[-1:]}"
    lines = output(commands["pytrec_eval script"]).splitlines()
    theirs = [float(line.split("\t")[2]) for line in lines[-len(MEASURES) :]]
    pairs = [
        (ours[name]["value"], value) for name, value in zip(MEASURES, theirs, strict=True) if name != "RR@10"
    ]
    return "" if all(abs(a - b) < 1e-4 for a, b in pairs) else f"the means differ: {pairs}"


def output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def cases(section: str, tools: Sequence[str], scale: float, millions: Sequence[float]) -> list[Case]:
    """What a section times."""
    msm, dl = loads.msm(round(6980 * scale)), loads.dl(round(200 * scale**0.5))
    if section == "variants":
        written = [loads.variant(msm, name) for name in loads.VARIANTS]
        pair = [tool for tool in tools if tool in TOOLS[:2]]
        return [Case(section, load, tool, "files") for load, tool in product(written, pair)]
    if section == "growth":
        return [Case(section, loads.msm(round(1000 * size)), "assay", "files") for size in millions]
    return [Case(section, load, tool, section) for load, tool in product((msm, dl), tools)]


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=SECTIONS, metavar="NAME", help=str(SECTIONS)
    )
    made.add_argument(
        "--tools", nargs="+", choices=TOOLS, metavar="TOOL", help=f"{TOOLS} (quick: without ranx)"
    )
    made.add_argument("--reps", type=int, help="repetitions (default: 3, quick: 1)")
    made.add_argument("--quick", action="store_true", help="small loads, to see that everything works")
    made.add_argument("--millions", nargs="+", type=float, metavar="N", help="the rows of the growth section")
    made.add_argument("--folder", type=Path, help="where to keep the loads (default: they are deleted)")
    made.add_argument("--json", type=Path, metavar="FILE", help="write every sample to a file")
    return made.parse_args(arguments)


def main() -> None:
    chosen = options()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        bench = Bench(chosen.folder or Path(temporary), chosen.reps or (1 if chosen.quick else 3))
        bench.folder.mkdir(parents=True, exist_ok=True)
        described = report.machine()
        try:
            run(bench, chosen)
        except KeyboardInterrupt:
            say("stopped: this is what was measured so far")
    print(report.markdown(bench.samples, described))
    if chosen.json:
        samples = [asdict(sample) for sample in bench.samples]
        chosen.json.write_text(json.dumps({"machine": described, "samples": samples}, indent=1))
    sys.exit(any(sample.off > TOLERANCE for sample in bench.samples))


def run(bench: Bench, chosen: argparse.Namespace) -> None:
    """Measure the chosen sections, one after the other."""
    wanted = chosen.tools or [tool for tool in TOOLS if not (chosen.quick and tool == "ranx")]
    tools = [tool for tool in wanted if find_spec(tool)]
    if missing := [tool for tool in wanted if tool not in tools]:
        say(f"not installed, left out: {', '.join(missing)}")
    scale = 0.01 if chosen.quick else 1.0
    millions = chosen.millions or [size * min(1.0, scale * 10) for size in MILLIONS]
    for section in chosen.only:
        if section == "small":
            bench.small(loads.small(20, 100))
            bench.small(loads.small(43, 1000))
        else:
            bench.measure(cases(section, tools, scale, millions))


if __name__ == "__main__":
    main()
