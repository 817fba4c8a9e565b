"""Which machines a call can name, and that no file is read that nothing calls (L20, W11, W18)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mklang.host import library as library_module
from mklang.host.library import callees_of, library_around
from mklang.lang.models import Machine
from mklang.lang.reader import machine_from_text


@pytest.fixture(autouse=True)
def _nothing_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about the files around a document; what comes with mklang is not among them."""
    monkeypatch.setattr(library_module, "files_outside", lambda *_: iter(()))


STEP = """
machine: {name}
entry: a
budget: 3
states:
  a:
    structure: s
    prompt: {prompt}
    output: o
    gates: [{{ when: otherwise, then: ok, to: END }}]
"""


def simple(name: str, prompt: str = "p") -> str:
    return STEP.format(name=name, prompt=prompt)


def calling(name: str, *callees: str) -> str:
    states = "".join(
        f"  s{index}:\n    call: {callee}\n    output: o{index}\n    gates: [{{ when: otherwise, then: ok, to: "
        f"{f's{index + 1}' if index + 1 < len(callees) else 'END'} }}]\n"
        for index, callee in enumerate(callees)
    )
    return f"machine: {name}\nentry: s0\nbudget: 9\nstates:\n{states}"


def write(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for stem, text in files.items():
        (folder / f"{stem}.mkl").write_text(text, "utf-8")


def own(text: str) -> Machine:
    return machine_from_text(text)


def prompt_of(machine: Machine) -> str:
    state = machine.states["a"]
    return getattr(state, "prompt", None).text  # type: ignore[union-attr]


@pytest.mark.rule("L20")
def test_machines_in_the_same_directory_are_found_by_their_name(tmp_path: Path) -> None:
    write(tmp_path, main=calling("main", "helper"), some_file=simple("helper"))
    library = library_around(tmp_path / "main.mkl")
    assert library["helper"].name == "helper"
    assert "some_file" not in library
    assert sorted(library) == ["helper"]


@pytest.mark.rule("L20")
@pytest.mark.parametrize("start", [".", "machines"])
def test_a_machines_folder_belongs_to_its_project_and_wins(tmp_path: Path, start: str) -> None:
    write(tmp_path, root=simple("only_root"), shared=simple("shared", "from the root"))
    write(tmp_path / "machines", inner=simple("only_inner"), shared=simple("shared", "from the folder"))
    library = library_around(tmp_path / start / "main.mkl")
    assert sorted(library) == ["only_inner", "only_root", "shared"]
    assert prompt_of(library["shared"]) == "from the folder"


@pytest.mark.rule("L20")
def test_the_machine_itself_is_in_its_library_and_wins(tmp_path: Path) -> None:
    write(tmp_path, other=simple("main", "another"))
    library = library_around(tmp_path / "main.mkl", own(simple("main", "itself")))
    assert prompt_of(library["main"]) == "itself"


@pytest.mark.rule("L20")
def test_of_two_files_with_one_name_the_later_counts_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path, a=simple("twin", "first"), b=simple("twin", "second"))
    library = library_around(tmp_path / "main.mkl")
    reading = library.reading("twin")
    assert reading is not None
    assert prompt_of(library["twin"]) == "second"
    assert [(found.code, found.severity.value) for found in reading.diagnostics] == [("machine-twice", "warning")]


@pytest.mark.rule("L20")
def test_a_link_out_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "outside", secret=simple("secret"))
    write(tmp_path / "project", near=simple("near"))
    Path(tmp_path / "project/secret.mkl").symlink_to(tmp_path / "outside/secret.mkl")
    Path(tmp_path / "project/again.mkl").symlink_to(tmp_path / "project/near.mkl")
    assert sorted(library_around(tmp_path / "project/main.mkl")) == ["near"]


@pytest.mark.rule("L20")
def test_only_machine_files_count(tmp_path: Path) -> None:
    write(tmp_path, a=simple("a"))
    (tmp_path / "b.mk").write_text(simple("b"), "utf-8")
    (tmp_path / "c.yaml").write_text(simple("c"), "utf-8")
    (tmp_path / "d.MKL").write_text(simple("d"), "utf-8")
    (tmp_path / "e.mkl").mkdir()
    assert sorted(library_around(tmp_path / "main.mkl")) == ["a", "b"]


@pytest.mark.parametrize(
    "line",
    [
        "machine: helper",
        'machine: "helper"',
        "machine: 'helper'",
        "machine:   helper   # what it does",
        "machine:\n  helper",
        '"machine": helper',
        "machine: &name helper",
        "machine: !!str helper",
        'machine: "hel\\u0070er"',
    ],
)
def test_a_name_is_found_however_it_is_written(tmp_path: Path, line: str) -> None:
    write(tmp_path, x=simple("helper").replace("machine: helper", line))
    assert list(library_around(tmp_path / "main.mkl")) == ["helper"]


def test_a_name_that_goes_on_below_is_the_whole_name(tmp_path: Path) -> None:
    write(tmp_path, x=simple("helper").replace("machine: helper", "machine: helper\n  of many"))
    assert list(library_around(tmp_path / "main.mkl")) == ["helper of many"]


def test_windows_line_ends_do_not_hide_a_name(tmp_path: Path) -> None:
    (tmp_path / "x.mkl").write_bytes(simple("helper").replace("\n", "\r\n").encode())
    assert list(library_around(tmp_path / "main.mkl")) == ["helper"]


def test_an_indented_machine_key_names_no_machine(tmp_path: Path) -> None:
    text = simple("outer").replace("machine: outer\n", "context:\n  machine: inner\nmachine: outer\n")
    write(tmp_path, x=text)
    assert list(library_around(tmp_path / "main.mkl")) == ["outer"]


@pytest.mark.rule("W11")
def test_a_callee_is_read_as_strictly_as_the_machine_itself(tmp_path: Path) -> None:
    write(tmp_path, helper=simple("helper").replace("budget: 3", "budget: 0\nbugdet: 4"))
    library = library_around(tmp_path / "main.mkl")
    found = callees_of(own(calling("main", "helper")), library)
    assert [(one.code, Path(one.path).name, one.span and one.span.line) for one in found.diagnostics] == [
        ("bad-value", "helper.mkl", 4),
        ("unknown-key", "helper.mkl", 5),
    ]
    assert found.machines == {}
    assert library.get("helper") is None


def test_callees_of_callees_are_found_and_loops_end(tmp_path: Path) -> None:
    write(tmp_path, b=calling("b", "c"), c=calling("c", "b", "main"), d=simple("d"))
    main = own(calling("main", "b"))
    found = callees_of(main, library_around(tmp_path / "main.mkl", main))
    assert sorted(found.machines) == ["b", "c", "main"]
    assert found.diagnostics == ()


@pytest.mark.rule("W18")
def test_a_machine_that_is_called_by_many_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = 24
    for layer in range(layers):
        below = [f"left{layer + 1}", f"right{layer + 1}"] if layer + 1 < layers else ["base", "base"]
        write(tmp_path, **{f"{side}{layer}": calling(f"{side}{layer}", *below) for side in ("left", "right")})
    write(tmp_path, base=simple("base"))
    parsed: list[str] = []
    real = library_module.read_machine
    monkeypatch.setattr(library_module, "read_machine", lambda source: parsed.append(source.name) or real(source))
    found = callees_of(own(calling("main", "left0", "right0")), library_around(tmp_path / "main.mkl"))
    assert len(found.machines) == 2 * layers + 1
    assert len(parsed) == len(set(parsed)) == 2 * layers + 1


def test_what_nothing_calls_is_not_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, helper=simple("helper"), **{f"other{index}": simple(f"other{index}") for index in range(20)})
    parsed: list[str] = []
    real = library_module.read_machine
    monkeypatch.setattr(library_module, "read_machine", lambda source: parsed.append(source.name) or real(source))
    callees_of(own(calling("main", "helper")), library_around(tmp_path / "main.mkl"))
    assert [Path(name).name for name in parsed] == ["helper.mkl"]


def test_without_calls_no_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, helper=simple("helper"))
    monkeypatch.setattr(library_module, "read_source", lambda path: pytest.fail(f"{path} was opened"))
    assert callees_of(own(simple("main")), library_around(tmp_path / "main.mkl")).machines == {}


def test_when_a_name_is_not_found_files_that_might_have_it_are_reported(tmp_path: Path) -> None:
    write(tmp_path, broken="machine: [", fine=simple("fine"))
    found = callees_of(own(calling("main", "missing")), library_around(tmp_path / "main.mkl"))
    assert [Path(one.path).name for one in found.diagnostics] == ["broken.mkl"]
    found = callees_of(own(calling("main", "fine")), library_around(tmp_path / "main.mkl"))
    assert found.diagnostics == ()


def test_a_directory_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert len(library_around(tmp_path / "no/such/main.mkl")) == 0


def test_files_are_named_as_a_person_here_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "flows", helper=simple("helper").replace("budget: 3", "budget: 0"))
    monkeypatch.chdir(tmp_path)
    found = callees_of(own(calling("main", "helper")), library_around("flows/main.mkl"))
    assert [one.path for one in found.diagnostics] == ["flows/helper.mkl"]


def test_a_file_that_is_no_text_is_reported_when_a_name_is_missing(tmp_path: Path) -> None:
    (tmp_path / "latin.mkl").write_bytes(b"machine: caf\xe9\n")
    found = callees_of(own(calling("main", "missing")), library_around(tmp_path / "main.mkl"))
    assert [(one.code, Path(one.path).name) for one in found.diagnostics] == [("not-utf8", "latin.mkl")]


def test_a_line_that_only_looks_like_a_name_gives_no_other_machine(tmp_path: Path) -> None:
    text = 'note: "a text\nmachine: helper\n"\n'
    write(tmp_path, x=simple("real").replace("machine: real\n", f"context:\n  {text}machine: real\n"))
    library = library_around(tmp_path / "main.mkl")
    assert library.get("helper") is None
