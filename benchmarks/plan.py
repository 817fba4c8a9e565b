"""What is measured and what is promised: the workloads of the shared benchmark, the peers, and the issues' targets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from measuring import FLOOR, OURS, REFERENCE, Cell, Command, Workload


@dataclass(frozen=True)
class Target:
    """Our ``cell`` takes at most ``limit`` times what it is compared with: another cell, or an ideal in seconds."""

    name: str
    cell: Cell
    against: Cell | float
    limit: float


@dataclass(frozen=True)
class Section:
    """One table: cells that do the same work. ``unit`` is what a figure is for; ``waits`` when the work is waiting."""

    key: str
    title: str
    unit: str
    cells: tuple[Cell, ...]
    targets: tuple[Target, ...] = ()
    waits: bool = False


def _steps(variant: str) -> tuple[Workload, Workload]:
    return Workload(OURS, "steps", variant), Workload(REFERENCE, "steps", variant)


def _step_sections() -> list[Section]:
    ours, theirs = _steps("loop")
    linear, their_linear = _steps("linear")
    judged, their_judged = _steps("loop-judge3")
    prompted, their_prompted = _steps("loop-judge3+prompt")
    return [
        Section(
            key="steps",
            title="Workload 1: step loop, 1,000 steps, instant model",
            unit="us per step",
            cells=(
                ours,
                theirs,
                Workload(FLOOR, "steps", "await"),
                linear,
                their_linear,
                Workload("burr_sys", "steps", "loop-async"),
                Workload("pydantic_graph_sys", "steps", "loop"),
                Workload("statemachine_sys", "steps", "loop-async"),
                Workload("langgraph_sys", "steps", "loop-async"),
            ),
            targets=(Target("step loop / reference", ours, theirs, 0.55),),
        ),
        Section(
            key="judged",
            title="Workload 1: judged step, 1,000 steps with three prose gates, instant model and judge",
            unit="us per step",
            cells=(
                judged,
                their_judged,
                prompted,
                their_prompted,
                Workload(FLOOR, "steps", "await-judge3"),
                Workload("burr_sys", "steps", "loop-judge3-sync"),
                Workload("pydantic_graph_sys", "steps", "loop-judge3"),
                Workload("statemachine_sys", "steps", "loop-judge3-sync"),
                Workload("langgraph_sys", "steps", "loop-judge3-async"),
            ),
            targets=(Target("judged step / reference", judged, their_judged, 0.3),),
        ),
    ]


def _fan_out(items: int, limit: float) -> Section:
    settings = (("n", items), ("delay", 0.05))
    ours = Workload(OURS, "fanout", "default", settings)
    peers = [
        Workload(REFERENCE, "fanout", "workers=n", settings),
        Workload(FLOOR, "fanout", "gather", settings),
        Workload("burr_sys", "fanout", "async", settings),
        Workload("pydantic_graph_sys", "fanout", "map", settings),
        Workload("langgraph_sys", "fanout", "async", settings),
    ]
    if items <= 100:
        peers.insert(1, Workload(REFERENCE, "fanout", "default(5)", settings, reps=2))
    return Section(
        key=f"fanout-{items}",
        title=f"Workload 2: fan-out of {items:,} items of 50 ms",
        unit="ms in all",
        cells=(ours, *peers),
        targets=(Target(f"fan-out of {items:,} / 50 ms", ours, 0.05, limit),),
        waits=True,
    )


def _concurrent() -> Section:
    ours = Workload(OURS, "concurrent", "gather")
    return Section(
        key="concurrent",
        title="Workload 3: 500 runs of 10 steps of 20 ms in one process",
        unit="ms in all",
        cells=(
            ours,
            Workload(REFERENCE, "concurrent", "threads"),
            Workload(FLOOR, "concurrent", "gather"),
            Workload("burr_sys", "concurrent", "async", reps=2),
            Workload("statemachine_sys", "concurrent", "async", reps=2),
            Workload("pydantic_graph_sys", "concurrent", "async", reps=2),
            Workload("langgraph_sys", "concurrent", "async", reps=2),
        ),
        targets=(Target("500 x 10 x 20 ms / 0.2 s", ours, 0.2, 1.3),),
        waits=True,
    )


def _long_context() -> Section:
    ours = [Workload(OURS, "longctx", variant) for variant in ("plain", "judge3", "judge3+prompt", "prompt-uses-big")]
    return Section(
        key="longctx",
        title="Workload 4: 200 steps with a text of 1 MB in the context",
        unit="us per step",
        cells=(
            *(cell for mine in ours for cell in (mine, replace(mine, system=REFERENCE))),
            Workload(FLOOR, "longctx", "by-reference"),
            Workload(FLOOR, "longctx", "json-dump"),
            Workload("burr_sys", "longctx", "judge3-sync"),
            Workload("pydantic_graph_sys", "longctx", "judge3"),
            Workload("langgraph_sys", "longctx", "judge3-sync"),
        ),
    )


def _durable() -> Section:
    ours, line = Workload(OURS, "durable", "journal-fsync"), Workload(FLOOR, "durable", "jsonl-fsync")
    return Section(
        key="durable",
        title="Workload 5: 100 durable steps",
        unit="us per step",
        cells=(
            ours,
            Workload(REFERENCE, "durable", "suspend+checkpoint-per-step", reps=2),
            line,
            Workload(OURS, "durable", "journal-nosync"),
            Workload("burr_sys", "durable", "sqlite-persister", reps=2),
            Workload("langgraph_sys", "durable", "sqlite-durability-sync", reps=2),
            Workload("dbos_sys", "durable", "sync-workflow", reps=2),
        ),
        targets=(Target("durable step / fsynced line", ours, line, 2.0),),
        waits=True,
    )


def _cold(key: str, title: str, arguments: tuple[str, ...], limit: float) -> Section:
    ours, theirs = Command(OURS, "mklang", arguments), Command(REFERENCE, "mklang", arguments)
    return Section(
        key=key,
        title=f"Workload 6: {title}, whole process",
        unit="ms",
        cells=(ours, theirs, Command(FLOOR, "python", ("-c", "pass"))),
        targets=(Target(f"{title} / reference", ours, theirs, limit),),
    )


def _load() -> Section:
    ours, theirs = Workload(OURS, "load", "api-total", reps=3), Workload(REFERENCE, "load", "api-total", reps=2)
    return Section(
        key="load",
        title="Workload 7: parse and check 1,000 states of 4 gates",
        unit="ms in all",
        cells=(
            ours,
            theirs,
            Workload(OURS, "load", "read", reps=3),
            Workload(OURS, "load", "check", reps=3),
            Workload(FLOOR, "load", "json", reps=3),
            Workload(FLOOR, "load", "yaml-CSafeLoader", reps=2),
        ),
        targets=(Target("parse and check 1,000 x 4 / reference", ours, theirs, 0.25),),
    )


SECTIONS: tuple[Section, ...] = (
    *_step_sections(),
    _fan_out(100, 1.15),
    _fan_out(1000, 1.4),
    _concurrent(),
    _long_context(),
    _durable(),
    _cold("help", "mklang --help", ("--help",), 0.45),
    _cold("check", "mklang check small.mkl", ("check", "small.mkl"), 0.6),
    _load(),
)
