"""Inputs that cost a naive reading endless time or recursion: they get an answer, or are told to be too much."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mklang.audit.python import AuditOptions, audit_python

pytestmark = pytest.mark.rule("S50")

ASK = """\
from pathlib import Path

from openai import OpenAI


def ask(prompt):
    return OpenAI().responses.create(model="m", input=prompt).output_text


"""
SAVE = '    Path("notes.md").write_text({})\n'


@pytest.fixture(autouse=True)
def _bounded() -> Iterator[None]:
    """A minute is a hundred times what any of these takes; without it a relapse would hang instead of fail."""

    def end(*_: object) -> None:
        raise TimeoutError("the audit does not come to an end")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _main(*lines: str, given: str = "", saved: str = "x") -> str:
    return f"def main({given}):\n" + "".join(f"    {line}\n" for line in lines) + SAVE.format(saved)


def _nested(words: str, count: int, rest: str) -> str:
    return "".join("    " * depth + words.format(depth) + "\n" for depth in range(1, count)) + "    " * count + rest


FOUND = {
    "calls of calls": _main("x = ask('x')" + ".a()" * 400),
    "subscripts": _main("x = ask('x')" + "[0]" * 900),
    "nested calls": "def f(a): return a\n" + _main("x = " + "f(" * 80 + "ask('x')" + ")" * 80),
    "nested writes": "def main():\n    " + "Path('n').write_text(" * 60 + "ask('x')" + ")" * 60 + "\n",
    "nested tests": "def main():\n    x = ask('x')\n" + _nested("if a{}:", 95, "Path('n').write_text(x)\n"),
    "nested loops": "def main():\n    x = ask('x')\n" + _nested("for a{} in x:", 18, "Path('n').write_text(x)\n"),
    "many branches": _main(
        "x = ask('x')", "if c == 0: y = x", *(f"elif c == {n}: y{n} = x" for n in range(900)), given="c"
    ),
    "many conditions": _main("x = ask('x')" + "".join(f" and c{n}(x)" for n in range(2000))),
    "many names": _main(*(f"v{n} = ask('x')\n    if c > {n}: v{n} = 1" for n in range(500)), given="c", saved="v1"),
    "many keys": _main("x = {}", *(f"x['k{n}'] = ask('x')" for n in range(2000))),
    "many attributes": _main(*(f"x.k{n} = ask('x')" for n in range(2000)), given="x"),
    "many steps": "def f(a): return a\n" + _main("x = ask('x')", *("x = f(x)" for _ in range(3000))),
    "a chain of functions": "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(2000))
    + "def f2000(x):\n    return x\n"
    + _main("x = f0(ask('x'))"),
    "forty thousand lines": "".join(f"def f{n}(x):\n    y = x\n    z = y\n    return z\n" for n in range(10_000))
    + _main("x = f1(ask('x'))"),
    "a long line of classes": "class C0:\n    def go(self, x): return x\n"
    + "".join(f"class C{n + 1}(C{n}): pass\n" for n in range(900))
    + _main("x = o.go(ask('x'))", given="o: C900"),
    "diamonds": "class A0: pass\nclass B0: pass\n"
    + "".join(f"class A{n + 1}(A{n}, B{n}): pass\nclass B{n + 1}(A{n}, B{n}): pass\n" for n in range(100))
    + _main("o.z = ask('x')", given="o: A100", saved="o.z"),
    "a method in many classes": "class B:\n    def go(self, x): return x\n"
    + "".join(f"class C{n}(B):\n    def go(self, x): return super().go(x)\n" for n in range(1000))
    + _main("x = o.go(ask('x'))", given="o: B"),
    "functions that are given": "def run(f): return f(ask('x'))\n"
    + "".join(f"def g{n}(t): return t\ndef h{n}(): return run(g{n})\n" for n in range(300))
    + _main("x = h0()"),
    "decorators": "".join(f"def d{n}(f):\n    def w(*a): return f(*a)\n    return w\n" for n in range(100))
    + "".join(f"@d{n}\n" for n in range(100))
    + "def go(): return ask('x')\n"
    + _main("x = go()"),
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in FOUND.items()])
def test_what_is_large_or_deep_is_found_all_the_same(text: str, tmp_path: Path) -> None:
    (tmp_path / "hard.py").write_text(ASK + text)
    report = audit_python([str(tmp_path)])
    assert {one.code for one in report.findings} == {"AK102"}
    assert (report.problems, report.finished) == ((), True)


TOO_MUCH = {
    "attributes": ("x = ask('x')" + ".a" * 5000, "deeper"),
    "sums": ("x = ask('x')" + " + y" * 5000, "deeper"),
    "names": ("\n    ".join(f"v{n} = ask('x')\n    if c > {n}: v{n} = 1" for n in range(5000)), "more work"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_nobody_writes_is_told_and_stops_nothing(name: str, tmp_path: Path) -> None:
    text, reason = TOO_MUCH[name]
    (tmp_path / "hard.py").write_text(ASK + _main(text))
    (tmp_path / "plain.py").write_text(ASK + _main("x = ask('x')"))
    report = audit_python([str(tmp_path)])
    assert [Path(one.path).name for one in report.findings] == ["plain.py"]
    (problem,) = report.problems
    assert reason in problem.message


def test_modules_and_classes_that_go_in_circles_come_to_an_end(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/__init__.py").write_text("from .m0 import *\n")
    for number in range(60):
        after = (number + 1) % 60
        imports = f"from .m{after} import *\nfrom .m{after} import C{after}, f as g\n"
        text = f"{imports}class C{number}(C{after}):\n    x: 'C{after}'\n"
        (tmp_path / f"pack/m{number}.py").write_text(text)
    (tmp_path / "main.py").write_text(
        f"from pack import C0, g\n{ASK}{_main('o.z = ask(g)', given='o: C0', saved='o.x.x.z')}"
    )
    assert audit_python([str(tmp_path)]).finished


def test_comments_of_nothing_but_spaces_are_read_in_one_go(tmp_path: Path) -> None:
    spaces = " " * 100_000
    silenced = SAVE.format("ask('x')").rstrip() + f"  # mklang: ignore[AK102]{spaces}thrown away after the demo\n"
    odd = f"#{spaces}mklang:{spaces}\n# mklang: ignore{spaces}[\n# mklang: ignore[{spaces}\n"
    (tmp_path / "spaces.py").write_text(f"{ASK}{odd}def main():\n{silenced}")
    assert audit_python([str(tmp_path)]).silenced == 1


def test_what_is_no_file_is_neither_waited_for_nor_gone_round_in(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(ASK + _main("x = ask('x')"))
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "nowhere.py").symlink_to(tmp_path / "gone.py")
    report = audit_python([str(tmp_path), str(tmp_path / "pipe.py")])
    assert (report.files, len(report.findings)) == (1, 1)


def test_an_audit_that_comes_to_its_limit_says_so(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(ASK + FOUND["many steps"])
    report = audit_python([str(tmp_path)], AuditOptions(effort=100))
    assert not report.finished
    assert report.counts()["finished"] is False
