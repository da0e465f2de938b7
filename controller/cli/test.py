"""`tablectl test`: test a device of the running table, sensor by sensor, with a technician at the table."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from controller.app.device_types import Kinds
from controller.cli.guide import Guide, TestLink, add_guide
from controller.cli.link import OutOfReachError, RefusedError, add_json, add_socket, report_out_of_reach
from controller.cli.shell import (
    BAD_INPUT,
    FAILED,
    OK,
    atomic_file,
    say,
    unwritable_message,
    unwritable_reason,
)
from controller.model.tables import TableSettings
from controller.settings.mistakes import SettingsError
from controller.settings.tables import load_table
from controller.technician.plan import next_step, steps_for
from controller.technician.steps import SensorFinding, Step

EXAMPLES = (
    "tablectl test wall-left",
    "tablectl test wheel --only ball_beam",
    "tablectl test console --report console.json",
)
LAMP_S = 1.5
OUTPUTS = "outputs"
LAMP_WORD = "LAMP"


class ChoiceError(ValueError):
    """The table has no such device or sensor; the message lists the existing names."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("device", metavar="DEVICE", help="the device's name in the table's file")
    parser.add_argument(
        "--only",
        action="append",
        metavar="SENSOR",
        help=f"test only this sensor, such as wall_impact or {OUTPUTS} (lamps and buzzer); may be repeated",
    )
    parser.add_argument(
        "--yes-i-am-at-the-table",
        action="store_true",
        help=f"switch on lamps and the buzzer without asking for the word {LAMP_WORD}",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report as JSON to a new file")
    add_guide(parser)
    add_socket(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Test the device.

    Return 1 if a sensor failed or the table refused the test, 2 for bad input, and 3 if no controller
    responds.
    """
    report: Path | None = arguments.report
    if report is not None and report.is_file():
        say(f"{report} already exists; choose a different name for the report")
        return BAD_INPUT
    if report is not None and (wrong := unwritable_reason(report)) is not None:
        say(wrong)
        return BAD_INPUT
    try:
        with TestLink(arguments.socket, arguments.who) as link:
            guide = Guide(link, arguments.timeout, quietly=arguments.json)
            return GuidedTest(arguments, guide).run()
    except RefusedError as error:
        say(error)
        return FAILED
    except OutOfReachError as error:
        return report_out_of_reach(error)
    except (ChoiceError, SettingsError) as error:
        say(error)
    except OSError as error:
        if arguments.report is None:
            raise
        say(unwritable_message(arguments.report, error))
    return BAD_INPUT


class GuidedTest:
    """One run of `tablectl test`, or a test started from the console."""

    def __init__(self, arguments: argparse.Namespace, guide: Guide) -> None:
        self._arguments = arguments
        self._guide = guide
        self._begun = guide.link.begun
        self._name: str = arguments.device
        self._settings = load_table(str(self._begun["file"]), kinds=Kinds())
        self._findings: list[SensorFinding] = []
        self._steps = _chosen(self._name, self._settings, arguments.only)
        lamps = self._available_lamps()
        self._lamps = lamps if arguments.only is None or OUTPUTS in arguments.only else []

    def run(self) -> int:
        """Test the device, report the result to the table and write the report; return the exit code."""
        began = _now()
        self._guide.show(f"{self._begun['table']} is in test mode: nothing counts until this command ends.")
        self._add(self._health())
        for step in self._steps:
            self._perform(step)
        self._try_outputs()
        failed = [finding for finding in self._findings if finding.status == "fail"]
        wrong = {finding.sensor: f"{finding.says}; {finding.next_step}" for finding in failed}
        well = {f.sensor for f in self._findings if f.status == "pass"} - set(wrong)
        self._guide.link.show_result(self._name, sorted(well), wrong)
        report = {
            "table": self._begun["table"],
            "file": self._begun["file"],
            "device": self._name,
            "who": self._arguments.who,
            "began": began,
            "ended": _now(),
            "passed": not failed,
            "findings": self._findings,
        }
        if self._arguments.report is not None:
            with atomic_file(self._arguments.report) as stream:
                stream.write(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
        if self._arguments.json:
            print(msgspec.json.encode(report).decode())
        else:
            words = f"{len(failed)} failed" if failed else "passed"
            skipped = sum(finding.status == "skipped" for finding in self._findings)
            self._guide.show(f"{self._name}: {words}" + (f", {skipped} skipped" if skipped else ""))
            if failed:
                notice = f"the table reports the failure as a fault until `tablectl test {self._name}` passes"
                self._guide.show(f"{notice}; see `tablectl faults`")
        return FAILED if failed else OK

    def _perform(self, step: Step) -> None:
        ending = self._guide.perform(step, self._name)
        if ending == "skipped":
            self._add(SensorFinding(sensor=step.sensor, status="skipped", says="skipped on request"))
            return
        for finding in step.findings():
            self._add(finding)

    def _add(self, finding: SensorFinding) -> None:
        if finding.status == "fail":
            finding = replace(finding, next_step=next_step(self._name, finding.sensor))
        self._findings.append(finding)
        self._guide.found(finding)

    def _health(self) -> SensorFinding:
        device = self._device()
        up = bool(device.get("up"))
        report = str(device.get("says") or "")
        message = (
            report.removeprefix("device_up").removeprefix("device_down").removeprefix(": ") or "it responds"
        )
        advice = f"; {device['do']}" if device.get("do") and not up else ""
        return SensorFinding(sensor="device", status="pass" if up else "fail", says=f"{message}{advice}")

    def _device(self) -> Mapping[str, object]:
        devices = self._begun["devices"]
        assert isinstance(devices, dict)
        device: Mapping[str, object] = devices.get(self._name, {})
        return device

    # --- outputs ---

    def _available_lamps(self) -> list[str]:
        """Return the device's lamps and buzzer: a panel's outputs or, for a board, all the table's lamps."""
        kind = self._settings.devices[self._name]
        outputs = getattr(kind.settings, "outputs", None)
        if isinstance(outputs, Mapping):
            return sorted({output.lamp for output in outputs.values()})
        figures = self._device().get("figures")
        does = figures.get("does", []) if isinstance(figures, dict) else []
        lamps = self._begun["lamps"]
        assert isinstance(lamps, list)
        return [*(lamps if "lamp" in does else []), *(["buzzer"] if "buzzer" in does else [])]

    def _try_outputs(self) -> None:
        if not self._lamps:
            return
        sure = self._arguments.yes_i_am_at_the_table
        words = (
            f"the lamps and buzzer of {self._name} are next: type the word {LAMP_WORD} to continue,"
            " or press Enter to skip:"
        )
        if not sure and self._guide.answer(words) != LAMP_WORD:
            message = f"{LAMP_WORD} was not typed, and --yes-i-am-at-the-table is not set"
            self._add(SensorFinding(sensor=OUTPUTS, status="skipped", says=message))
            return
        for lamp in self._lamps:
            self._add(self._try(lamp))

    def _try(self, lamp: str) -> SensorFinding:
        link = self._guide.link
        link.try_out(self._name, lamp, "on")
        if self._guide.typed:
            seen = self._guide.answer(f"is the output `{lamp}` on? (y, n)").lower()
        else:
            link.wait(LAMP_S, typed=False)
            seen = ""
        link.try_out(self._name, lamp, "off")
        if seen.startswith("y"):
            return SensorFinding(sensor=lamp, status="pass", says="seen")
        if seen.startswith("n"):
            return SensorFinding(sensor=lamp, status="fail", says="not seen; check the wiring and the output")
        return SensorFinding(sensor=lamp, status="skipped", says="switched on and off, but not confirmed")


def _chosen(name: str, settings: TableSettings, only: list[str] | None) -> list[Step]:
    if name not in settings.devices:
        raise ChoiceError(f"the table has no device {name!r}; its devices are {', '.join(settings.devices)}")
    steps = steps_for(name, settings)
    sensors = list(dict.fromkeys([*(step.sensor for step in steps), OUTPUTS]))
    for word in only or ():
        if word not in sensors:
            raise ChoiceError(f"--only: found {word!r}, expected one of {', '.join(sensors)}")
    return list(_matching(steps, only))


def _matching(steps: list[Step], only: list[str] | None) -> Iterator[Step]:
    return (step for step in steps if only is None or step.sensor in only)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
