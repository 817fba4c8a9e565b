"""``mklang lint --llm``: the static findings, and then what a judge makes of the prose conditions (ADR 0010).

Advisory: nothing here changes the exit code, but that an interruption says so. The static findings stand whatever
becomes of the model.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from mklang import __version__
from mklang.analysis.runner import fails_strict
from mklang.cli import findings
from mklang.cli.exit_codes import ExitCode
from mklang.cli.inspecting import Asked, inspect
from mklang.cli.llm_material import material_for
from mklang.cli.llm_options import LlmFlags
from mklang.cli.llm_told import told
from mklang.cli.output import Output, complain, is_terminal, to_json
from mklang.engine.options import OnUncertain, RunOptions
from mklang.engine.requests import Usage
from mklang.errors import MklangError, UsageError
from mklang.hooks.registry import HookRegistry
from mklang.host.configuration import resolve
from mklang.host.inspection import Inspected
from mklang.host.judge_config import Manner
from mklang.host.models import Models, choose_models
from mklang.host.paths import state_folder
from mklang.host.seam import REAL, Seam
from mklang.lang.models import Tier
from mklang.measure.asking import AnswerCache, Tally
from mklang.measure.estimate import Estimate, Role
from mklang.measure.llm_lint import LIMITS, Job, Linter, LintReport, Setting, expected
from mklang.measure.survey import Plan
from mklang.measure.wire import Origin, as_sarif, changes, findings_to_wire, report_to_wire
from mklang.oracles.judge_log import LoggedOracle
from mklang.oracles.live import LiveOracle
from mklang.oracles.timed import TimedOracle
from mklang.tools.registry import ToolRegistry

CACHE = "llm-lint"
_FORMS = (".html", ".json", ".sarif", ".txt")


def run(asked: Asked, flags: LlmFlags, out: Output, *, seam: Seam = REAL) -> int:
    """Static findings first; then the measuring, as far as it goes."""
    for file in flags.llm_report:
        if Path(file).suffix not in _FORMS:
            raise UsageError(f"--llm-report {file}: the name ends in one of {', '.join(_FORMS)}")
    looking = asked.looking(lint=True)
    inspected = list(inspect(asked.files, looking))
    failed = any(one.failed or (looking.strict and fails_strict(one.diagnostics)) for one in inspected)
    code = ExitCode.FAILED if failed else ExitCode.OK
    if not out.json:
        findings.tell(inspected, out)
    wire = findings.to_wire("lint", inspected, ok=not failed)
    jobs = list(_jobs(inspected, flags))
    setting = Setting(plan=_plan(flags), max_tokens=flags.llm_budget)
    most = expected(jobs, setting)
    if not most.states:
        return _only_estimate(most, wire, out, code, nano_usd=None)
    try:
        models = choose_models(**asked_models(flags.models), seam=seam)
    except MklangError as problem:
        if flags.llm_estimate:
            return _only_estimate(most, wire, out, code, nano_usd=None)
        return _without_model(problem, wire, out, code)
    if flags.llm_estimate:
        asyncio.run(models.aclose())
        return _only_estimate(most, wire, out, code, nano_usd=_price(most, models))
    options = RunOptions(whole_decisions=models.whole_decisions, on_uncertain=OnUncertain.FLAG)
    setting = Setting(plan=setting.plan, max_tokens=setting.max_tokens, options=options)
    measuring = _Measuring(jobs=jobs, setting=setting, models=models, flags=flags, out=out, seam=seam)
    return _tell(measuring, wire, code)


def asked_models(flags: Mapping[str, Any]) -> dict[str, Any]:
    """The flags about models as ``choose_models`` takes them."""
    given = dict(flags)
    if isinstance(given.get("judge"), str):
        given["judge"] = Manner(given["judge"])
    return given


def _plan(flags: LlmFlags) -> Plan:
    return Plan(samples=flags.llm_samples, repeats=flags.llm_repeats, full=flags.llm_probes == "full")


def _jobs(inspected: Sequence[Inspected], flags: LlmFlags) -> Iterator[Job]:
    for one in inspected:
        if one.machine is not None and not one.failed:
            yield Job(
                path=one.path, machine=one.machine, material=material_for(one.path, one.machine, flags.llm_material)
            )


def _only_estimate(most: Estimate, wire: dict[str, Any], out: Output, code: int, *, nano_usd: int | None) -> int:
    if out.json:
        usd = None if nano_usd is None else nano_usd / 1e9
        out.wire(wire | {"llm_report": {"estimate": most.to_wire() | {"usd": usd}, "limits": LIMITS}})
    else:
        out.say(_told(most, nano_usd))
    return code


def _price(most: Estimate, models: Models) -> int | None:
    """Billionths of a US dollar at the prices of the models that would be asked; None when one is not known."""

    def charge(tier: Tier, role: Role, usage: Usage) -> int | None:
        writer, judge = models.prices.get(tier, (None, None))
        price = writer if role is Role.WRITER else judge
        return None if price is None else price.nano_usd(usage)

    return most.nano_usd(charge)


def _without_model(problem: MklangError, wire: dict[str, Any], out: Output, code: int) -> int:
    """There is no model: what was found without one stands."""
    complain(f"nothing was measured: {problem}")
    if out.json:
        out.wire(wire | {"llm_report": {"stopped": str(problem), "limits": LIMITS}})
    return code or ExitCode.UNUSABLE


def _told(most: Estimate, nano_usd: int | None) -> str:
    if not most.states:
        return "no state has two prose gates, so there is nothing to put before a judge"
    money = "at a price that is not known" if nano_usd is None else f"${nano_usd / 1e9:.4f}" if nano_usd else "free"
    return (
        f"at most {most.produce_calls} calls to write outputs, {most.judge_calls} to the judge and "
        f"{most.control_calls} for controls, some {most.tokens:,} tokens ({money}), for {most.states} "
        f"state{'' if most.states == 1 else 's'}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measuring:
    """One invocation that has models to ask."""

    jobs: Sequence[Job]
    setting: Setting
    models: Models
    flags: LlmFlags
    out: Output
    seam: Seam

    def report(self) -> LintReport:
        """Ask, showing how far it is."""
        most = expected(self.jobs, self.setting)
        if not self.out.json:
            self.out.aside(f"# {self.models.notice}")
            self.out.aside(f"# {_told(most, _price(most, self.models))}")
        with ExitStack() as stack:
            watch = None
            if is_terminal(sys.stderr):
                from mklang.cli.llm_progress import Bar  # rich costs more than the rest together

                watch = stack.enter_context(Bar(most.produce_calls + most.judge_calls + most.control_calls))
            return asyncio.run(self._ask(watch))

    async def _ask(self, watch: Callable[[Tally], None] | None) -> LintReport:
        models, seam = self.models, self.seam
        live = LiveOracle(
            models=models.tiers, judge=models.judge, tools=ToolRegistry(), hooks=HookRegistry(), nonce=seam.nonce
        )
        logged = LoggedOracle(TimedOracle(live, elapsed=seam.elapsed))
        cache = AnswerCache(state_folder() / CACHE) if self.flags.llm_cache == "on" else None
        try:
            return await Linter(logged, self.setting, who=self._who(), cache=cache, watch=watch).measure(self.jobs)
        finally:
            await models.aclose()

    def _who(self) -> str:
        """Who answers, so that the answers of others are not taken for theirs: ids, parameters, the configuration."""
        models, asked = self.models, self.flags.models
        found = None if asked["base_url"] else resolve(config=asked["config"]).models
        config = blake2b(Path(found.path).read_bytes(), digest_size=8).hexdigest() if found is not None else ""
        tiers = sorted((tier.value, model.model, sorted(model.params.items())) for tier, model in models.tiers.items())
        judges = sorted((tier.value, name) for tier, name in models.judged_by.items())
        whole = sorted(tier.value for tier in models.whole_decisions)
        return repr((asked["base_url"], tiers, judges, whole, config))

    def origin(self) -> Origin:
        """Where the numbers come from."""
        return Origin(
            provider=self.models.notice,
            generators={tier.value: model.model for tier, model in self.models.tiers.items()},
            judges={tier.value: name for tier, name in self.models.judged_by.items()},
            mklang=__version__,
            date=self.seam.now().isoformat(timespec="seconds"),
        )


def _tell(measuring: _Measuring, wire: dict[str, Any], code: int) -> int:
    """Measure, and give the report in every form that was asked for."""
    flags, out = measuring.flags, measuring.out
    before = _baseline(flags.baseline) if flags.baseline else None
    report, origin = measuring.report(), measuring.origin()
    _into(wire, report, origin)
    if before is not None:
        wire["llm_changes"] = changes(before, wire)
    for file in flags.llm_report:
        _write(file, wire, report, origin)
    if out.json:
        out.wire(wire)
    else:
        for line in told(wire):
            out.say(line)
    return ExitCode.INTERRUPTED if report.interrupted else code


def _into(wire: dict[str, Any], report: LintReport, origin: Origin) -> None:
    """Put the findings to their files, and the report beside them."""
    found = {one.job.path: findings_to_wire(one) for one in report.machines}
    for item in wire["items"]:
        item["llm_findings"] = found.get(item["path"], [])
    wire["llm_report"] = report_to_wire(report, origin)


def _baseline(file: str) -> dict[str, Any]:
    try:
        found = json.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise UsageError(f"--baseline {file}: no JSON report of 'lint --llm': {problem}") from None
    if not isinstance(found, dict) or "llm_report" not in found:
        raise UsageError(f"--baseline {file}: no JSON report of 'lint --llm'")
    return found


def _write(file: str, wire: dict[str, Any], report: LintReport, origin: Origin) -> None:
    match Path(file).suffix:
        case ".html":
            from mklang.measure.lint_page import lint_page

            content = lint_page(wire["items"], wire["llm_report"])
        case ".sarif":
            placed = [
                (one.job.path, _line(one.job, found.state), found) for one in report.machines for found in one.findings
            ]
            content = to_json(as_sarif(placed, origin))
        case ".json":
            content = to_json(wire)
        case _:
            content = "\n".join(told(wire))
    try:
        Path(file).write_text(content + "\n", "utf-8")
    except OSError as problem:
        raise UsageError(f"--llm-report {file}: cannot be written: {problem.strerror}") from None


def _line(job: Job, state: str) -> int:
    span = job.machine.states[state].at.span
    return span.line if span else 1
