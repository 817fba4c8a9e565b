"""Properties: whatever JSON is logged comes back, whatever a line holds nothing crashes, doubles do not matter."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mklang.errors import UsageError
from mklang.knowledge.compliance.outcomes import Outcome, outcomes
from mklang.knowledge.compliance.spec import spec_in
from mklang.knowledge.compliance.timeline import TEXT, Event, Session
from mklang.knowledge.echo import Echo
from mklang.knowledge.gate import AgentGate
from mklang.knowledge.log import EpisodeLog
from mklang.knowledge.operations import State
from mklang.knowledge.reading import Defect, Located, read_log
from mklang.knowledge.record import Origin, read_record, record_line
from mklang.knowledge.rules import make_rule, rules_in, with_rule, without_rule
from mklang.knowledge.terminal import visible, with_code
from tests.knowledge.world import Ticking

pytestmark = pytest.mark.rule("S49")
TEXTS = st.text(max_size=30)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))
DATA = st.dictionaries(TEXTS.filter(lambda key: key != "_akc"), VALUES, max_size=4)
TS = "2025-12-01T12:00:00.000000+00:00"


@given(DATA)
def test_a_record_comes_back_as_it_was(data: dict[str, Any]) -> None:
    line = record_line(TS, "note", data)
    assert line.count(b"\n") == 1
    assert read_record(line).data == json.loads(json.dumps(data))


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_line_crashes_the_reader(line: bytes) -> None:
    try:
        read_record(line)
    except ValueError as error:
        assert str(error)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=60), max_size=6))
def test_whatever_stands_in_a_day_good_records_around_it_are_read(garbage: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = EpisodeLog(folder, Ticking())
        log.append("note", {"text": "first"}, Origin.OBSERVED)
        with (folder / "2025-12-01.jsonl").open("ab") as file:
            file.write(b"\n".join(garbage))
        log.append("note", {"text": "last"}, Origin.OBSERVED)
        log.close()
        found = list(read_log(folder))
        texts = [one.record.data.get("text") for one in found if isinstance(one, Located)]
        assert (texts[0], texts[-1]) == ("first", "last")
        assert all(one.line > 1 for one in found if isinstance(one, Defect))


@given(st.text(max_size=300))
def test_no_command_crashes_the_gate_and_reading_stays_free(command: str) -> None:
    gate = AgentGate(project=Path("/p"), home=Path("/p/.akc"))
    try:
        gate.refuse({"tool_name": "Bash", "tool_input": {"command": command}})
    except ValueError as error:  # which the command takes for a no
        assert "NUL" in str(error)
    written = {"tool_name": "Bash", "tool_input": {"command": f"echo x > CLAUDE.md # {command}"}}
    if "\0" not in command and "'" not in command and '"' not in command and "\\" not in command:
        assert gate.refuse(written) is not None


@given(st.text(max_size=80))
def test_a_rule_goes_in_and_comes_out_and_leaves_the_file_as_it_was(text: str) -> None:
    try:
        rule = make_rule(text)
    except UsageError:
        return
    for before in ("", "# Rules\n", "# Rules\n\n- old one\n"):
        after = with_rule(before, rule)
        assert [one.id for one in rules_in(after)] == [rule.id]
        assert without_rule(after, rule.id).rstrip("\n") == before.rstrip("\n")


@given(st.lists(TEXTS, max_size=20), TEXTS)
def test_a_code_stands_in_what_is_shown_once_and_nothing_moves_the_cursor(lines: list[str], nonce: str) -> None:
    shown, code = with_code(lines, nonce)
    assert sum(f"‹code {code}›" in line for line in shown) == 1
    assert all(one.isprintable() or one in "\n\t" for one in visible("\n".join(shown)))


@given(st.text(min_size=1, max_size=200), st.text(max_size=50), st.text(max_size=50))
def test_a_known_text_is_heard_in_any_surroundings(text: str, before: str, behind: str) -> None:
    words = text.split()
    if len(words) >= 3 and all(word.isalnum() for word in words):
        assert Echo([text]).hears({"deep": [{"x": f"{before} . {text} . {behind}"}]})
    assert not Echo([]).hears({"x": text})


@given(st.lists(st.integers(0, 12), max_size=8), st.lists(st.integers(0, 12), max_size=8))
def test_an_order_holds_exactly_when_some_pair_keeps_it(earlier: list[int], later: list[int]) -> None:
    spec = spec_in("id: s\nsteps: [{ id: a, detector: { before_step: b } }, { id: b }]", "s")
    session = Session(name="s", events=tuple(Event(tool=TEXT, text="x") for _ in range(13)))
    found = outcomes(spec, session, {"a": earlier, "b": later})["a"]
    if not earlier:
        assert found is Outcome.NOT_DONE
    elif not later:
        assert found is Outcome.UNORDERED
    else:
        holds = any(a < b for a in earlier for b in later)
        assert found is (Outcome.DONE if holds else Outcome.VIOLATED)


def test_an_operation_applied_twice_is_as_once() -> None:
    from mklang.guards import Receipt
    from mklang.knowledge.operations import Distilled, Found
    from tests.knowledge.test_store import basis

    receipt = Receipt(guard="g", version=1, guard_sha="", in_sha="", out_sha="", bytes=0)
    operations = [
        Distilled(basis=basis(run), receipt=receipt, found=(Found(text, 0.5, "noise"),))
        for run, text in (("r1", "a"), ("r2", "a"), ("r3", "b"))
    ]
    once = State().apply_all(operations).patterns
    assert State().apply_all([*operations, *operations]).patterns == once
