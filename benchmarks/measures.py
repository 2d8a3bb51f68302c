"""Compare the speed of Assay with that of other tools, from files, dictionaries or preloaded tables.

Each timing runs in its own process and ends with the values of each query. The tools alternate, so that other
work on the machine affects all of them, and ratios are those of one repetition. A time is shown only if the
values agree.
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

import numpy as np
import report
import workloads
from numpy.typing import NDArray
from report import TOLERANCE, Sample, print_progress
from tools import MEASURES
from workloads import Workload

import assay

FOLDER = Path(__file__).parent
TOOLS = ("assay", "pytrec_eval", "ranx", "ir_measures")
SECTIONS = tuple(report.TABLES)
MILLIONS = (1.0, 2.0, 3.5, 7.0, 14.0)


@dataclass(frozen=True)
class ToolCase:
    """What is timed: a tool, on a workload, in one mode."""

    section: str
    workload: Workload
    tool: str
    mode: str


@dataclass
class ToolTimings:
    """The folder of the workloads, the repetitions of each case, and the samples so far."""

    folder: Path
    reps: int
    samples: list[Sample] = field(default_factory=list)

    def measure(self, cases: Sequence[ToolCase]) -> None:
        """Time the cases alternately."""
        for workload in dict.fromkeys(case.workload for case in cases):
            self._prepare(workload)
        for number, case in product(range(self.reps), cases):
            print_progress(f"{case.section} {number + 1}/{self.reps}: {case.workload.name}, {case.tool}")
            self.samples.append(self._sample(case, number))

    def _prepare(self, workload: Workload) -> None:
        """Write a workload, and the values that all tools must agree with."""
        if not workload.values(self.folder).exists():
            print_progress(f"writing {workload.name}")
            workloads.write_workload(workload, self.folder)
            spawn(ToolCase("", workload, "pytrec_eval", "files"), self.folder, workload.values(self.folder))

    def _sample(self, case: ToolCase, number: int) -> Sample:
        values = self.folder / "values.npy"
        start = time.perf_counter()
        timing = spawn(case, self.folder, values)
        process = time.perf_counter() - start
        difference = max_difference(np.load(values), np.load(case.workload.values(self.folder)))
        megabytes = case.workload.run(self.folder).stat().st_size / 1e6
        return Sample(
            case.section, case.workload.name, case.tool, case.mode, number, process=process, off=difference,
            variant=case.workload.variant, rows=case.workload.rows, megabytes=megabytes, **timing,
        )  # fmt: skip

    def measure_small_file(self, workload: Workload) -> None:
        """Time whole processes on a file of everyday size, alternately and often because they are short."""
        workloads.write_workload(workload, self.folder)
        commands = process_commands(workload.qrels(self.folder), workload.run(self.folder))
        if problem := mismatch(commands):
            print_progress(f"small: skipped {workload.name}: {problem}")
            return
        print_progress(f"small: {workload.name}")
        compileall.compile_dir(str(Path(assay.__file__).parent), quiet=1)  # as pip does on installation
        for number, (tool, command) in product(range(10 * self.reps), commands.items()):
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds = time.perf_counter() - start
            self.samples.append(Sample("small", workload.name, tool, "process", number, seconds, seconds))


def spawn(case: ToolCase, folder: Path, values: Path) -> dict[str, Any]:
    """Run one timing in its own process and return what it printed."""
    files = map(str, (case.workload.qrels(folder), case.workload.run(folder), values))
    command = [sys.executable, "-W", "ignore", str(FOLDER / "tools.py"), case.tool, case.mode, *files]
    process = subprocess.run(command, capture_output=True, text=True)
    if process.returncode:
        raise SystemExit(f"{case.tool} failed on {case.workload.name}:\n{process.stderr}")
    return dict(json.loads(process.stdout))


def max_difference(values: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """Return the largest difference between two tables of values."""
    return float(np.abs(values - expected).max()) if values.shape == expected.shape else float("inf")


def process_commands(qrels: Path, run: Path) -> dict[str, list[str]]:
    """Return the command lines that do the same work."""
    measures = [part for name in MEASURES for part in ("-m", name)]
    command = [str(Path(sys.executable).with_name("assay")), "eval", str(qrels), str(run), *measures]
    script = [sys.executable, str(FOLDER / "pytrec_script.py"), str(qrels), str(run)]
    return {
        "assay eval": command,
        "assay eval --per-query": [*command, "--per-query"],
        "pytrec_eval script": script,
    }


def mismatch(commands: dict[str, list[str]]) -> str:
    """Return why the times of these commands cannot be compared, or an empty string."""
    try:
        ours = json.loads(read_output([*commands["assay eval"], "--format", "json"]))["runs"][0]["mean"]
    except subprocess.CalledProcessError as error:
        return f"assay eval failed: {error.stderr.strip().splitlines()[-1:]}"
    lines = read_output(commands["pytrec_eval script"]).splitlines()
    theirs = [float(line.split("\t")[2]) for line in lines[-len(MEASURES) :]]
    pairs = [
        (ours[name]["value"], value) for name, value in zip(MEASURES, theirs, strict=True) if name != "RR@10"
    ]
    return "" if all(abs(a - b) < 1e-4 for a, b in pairs) else f"the means differ: {pairs}"


def read_output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def section_cases(
    section: str, tools: Sequence[str], scale: float, millions: Sequence[float]
) -> list[ToolCase]:
    """Return the cases of a section."""
    passages, track = (
        workloads.ms_marco(round(6980 * scale)),
        workloads.deep_learning(round(200 * scale**0.5)),
    )
    if section == "variants":
        forms = [workloads.change_form(passages, name) for name in workloads.FORMS]
        pair = [tool for tool in tools if tool in TOOLS[:2]]
        return [ToolCase(section, workload, tool, "files") for workload, tool in product(forms, pair)]
    if section == "growth":
        return [
            ToolCase(section, workloads.ms_marco(round(1000 * size)), "assay", "files") for size in millions
        ]
    return [
        ToolCase(section, workload, tool, section) for workload, tool in product((passages, track), tools)
    ]


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=SECTIONS, metavar="NAME", help=str(SECTIONS)
    )
    parser.add_argument(
        "--tools",
        nargs="+",
        choices=TOOLS,
        metavar="TOOL",
        help=f"{TOOLS} (default: all; with --quick: without ranx)",
    )
    parser.add_argument("--reps", type=int, help="repetitions (default: 3; with --quick: 1)")
    parser.add_argument(
        "--quick", action="store_true", help="small workloads, to check that everything works"
    )
    parser.add_argument(
        "--millions", nargs="+", type=float, metavar="N", help="millions of rows in the growth section"
    )
    parser.add_argument(
        "--folder", type=Path, help="folder to keep the workloads in (default: they are deleted)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample to a file")
    return parser.parse_args(arguments)


def main() -> None:
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as temporary:
        timings = ToolTimings(
            arguments.folder or Path(temporary), arguments.reps or (1 if arguments.quick else 3)
        )
        timings.folder.mkdir(parents=True, exist_ok=True)
        machine = report.describe_machine()
        try:
            run_sections(timings, arguments)
        except KeyboardInterrupt:
            print_progress("stopped: the tables contain what was measured so far")
    print(report.render_report(timings.samples, machine))
    if arguments.json:
        samples = [asdict(sample) for sample in timings.samples]
        arguments.json.write_text(json.dumps({"machine": machine, "samples": samples}, indent=1))
    sys.exit(any(sample.off > TOLERANCE for sample in timings.samples))


def run_sections(timings: ToolTimings, arguments: argparse.Namespace) -> None:
    """Measure the requested sections, one after another."""
    requested = arguments.tools or [tool for tool in TOOLS if not (arguments.quick and tool == "ranx")]
    tools = [tool for tool in requested if find_spec(tool)]
    if missing := [tool for tool in requested if tool not in tools]:
        print_progress(f"not installed, skipped: {', '.join(missing)}")
    scale = 0.01 if arguments.quick else 1.0
    millions = arguments.millions or [size * min(1.0, scale * 10) for size in MILLIONS]
    for section in arguments.only:
        if section == "small":
            timings.measure_small_file(workloads.small_file(20, 100))
            timings.measure_small_file(workloads.small_file(43, 1000))
        else:
            timings.measure(section_cases(section, tools, scale, millions))


if __name__ == "__main__":
    main()
