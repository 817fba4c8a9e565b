"""The gate for agents: no direct write to what steers, permits or proves; reading and working stay free."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mklang.knowledge.gate import AgentGate
from tests.knowledge.world import akc, approve, made, plain_environment

pytestmark = pytest.mark.rule("S43", "S49")


def gate(project: Path, **more: Any) -> AgentGate:
    return AgentGate(project=project, home=project / ".akc", **more)


def bash(command: str) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": command}}


REFUSED = [
    {"tool_name": "Write", "tool_input": {"file_path": "CLAUDE.md", "content": "x"}},
    {"tool_name": "Edit", "tool_input": {"file_path": "{project}/sub/../AGENTS.md"}},
    {"tool_name": "MultiEdit", "tool_input": {"file_path": ".claude/settings.json", "edits": []}},
    {"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "tests/a.ipynb"}},
    {"tool_name": "Write", "tool_input": {"file_path": "claude.MD"}},
    {"tool_name": "Write", "tool_input": {"file_path": "linked.md"}},
    {"tool_name": "Write", "tool_input": {"file_path": ".akc/knowledge.json"}},
    {"tool_name": "mcp__fs__write_file", "tool_input": {"path": "skills/x/SKILL.md"}},
    {"tool_name": "mcp__fs__move", "tool_input": {"source": "a", "destination": "rules/a.md"}},
    {"tool_name": "ReadAndWrite", "tool_input": {"path": "CLAUDE.md"}},
    {"tool_name": "MultiEdit", "tool_input": {"edits": [{"file_path": "CLAUDE.md"}]}},
    {"tool_name": "exec", "tool_input": {"cmd": "rm CLAUDE.md"}},
    {"tool_name": "apply_patch", "tool_input": {"input": "*** Begin Patch\n*** Update File: CLAUDE.md\n+x\n"}},
    {"tool_name": "shell", "tool_input": {"command": ["bash", "-lc", "echo x >> CLAUDE.md"]}},
    *map(
        bash,
        [
            "echo x > CLAUDE.md",
            "echo x>>CLAUDE.md",
            "cat <<EOF > AGENTS.md\nx\nEOF",
            "echo x | tee -a CLAUDE.md",
            "sed -i s/a/b/ CLAUDE.md",
            "cp /tmp/x CLAUDE.md",
            "cd sub && mv x ../CLAUDE.md",
            "rm tests/test_a.py",
            "git checkout -- CLAUDE.md",
            "python -c \"open('CLAUDE.md','w').write('x')\"",
            "bash -c 'echo x > CLAUDE.md'",
            "dd of=CLAUDE.md",
            "sudo tee .github/workflows/ci.yml",
            "FOO=1 env touch .git/hooks/pre-commit",
            "echo 'unfinished > CLAUDE.md",
            "prettier --write CLAUDE.md",
            "git commit --no-verify -m x",
            "$(echo rm) CLAUDE.md",
            "echo x > CLAUDE.m*",
            "cp a CLAUDE.{md,txt}",
            "cat > $PWD/CLAUDE.md",
            'echo x > ./CLAUDE.m"d"',
            "echo x\ncp a CLAUDE.md",
            "cat a#b > CLAUDE.md",
            "echo hi # > notes\nrm CLAUDE.md",
            "echo x | tee >(cat > CLAUDE.md)",
            "echo x>|CLAUDE.md",
            "echo x &>>CLAUDE.md",
            "echo x >&CLAUDE.md",
            "(echo x)>CLAUDE.md",
            "diff <(cp a CLAUDE.md) b",
            "bash <<EOF\nrm CLAUDE.md\nEOF",
            "if true; then rm CLAUDE.md; fi",
            "for f in a; do cp $f CLAUDE.md; done",
            "! rm CLAUDE.md",
            "xargs rm < CLAUDE.md; rm CLAUDE.md",
            "rm -rf .akc",
            "mklang akc review",
            "(echo x) > CLAUDE.md",
            "find . -name CLAUDE.md -delete; rm CLAUDE.md",
            "x=$(cp a CLAUDE.md)",
            "`cp a CLAUDE.md`",
        ],
    ),
]
FREE = [
    {"tool_name": "Read", "tool_input": {"file_path": "CLAUDE.md"}},
    {"tool_name": "Grep", "tool_input": {"path": "tests"}},
    {"tool_name": "mcp__fs__read_file", "tool_input": {"path": "CLAUDE.md"}},
    {"tool_name": "Write", "tool_input": {"file_path": "src/app.py", "content": "echo > CLAUDE.md"}},
    {"tool_name": "WebFetch", "tool_input": {"url": "https://example.org"}},
    *map(
        bash,
        [
            "cat CLAUDE.md",
            "grep -i test CLAUDE.md | head",
            "git diff CLAUDE.md && git log --oneline",
            "pytest tests/test_a.py -q",
            "python -m pytest tests",
            "echo x > notes.txt",
            "sed -n 1,5p CLAUDE.md",
            "git add CLAUDE.md && git commit -m 'rules'",
            "mklang akc propose CLAUDE.md --file new.md",
            "mklang akc review --list",
            "ls -la .akc",
            "wc -l < CLAUDE.md",
            "echo x > notes.txt 2>&1",
            "diff <(cat CLAUDE.md) AGENTS.md",
            "cat <<EOF > notes.txt\nsee CLAUDE.md\nEOF",
        ],
    ),
]


def filled(event: Any, project: Path) -> Any:
    return json.loads(json.dumps(event).replace("{project}", str(project)))


@pytest.mark.parametrize("event", REFUSED, ids=[json.dumps(event["tool_input"])[:60] for event in REFUSED])
def test_a_direct_write_is_refused(event: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").touch()
    (tmp_path / "linked.md").symlink_to("CLAUDE.md")
    refusal = gate(tmp_path).refuse(filled(event, tmp_path))
    assert refusal is not None
    assert any(word in str(refusal) for word in ("propose", "person", "checks"))


@pytest.mark.parametrize("event", FREE, ids=[json.dumps(event["tool_input"])[:60] for event in FREE])
def test_reading_and_work_are_free(event: dict[str, Any], tmp_path: Path) -> None:
    assert gate(tmp_path).refuse(event) is None


def test_globs_can_be_opened_and_stakes_left_out(tmp_path: Path) -> None:
    write = {"tool_name": "Write", "tool_input": {"file_path": "machines/a.mkl"}}
    assert gate(tmp_path).refuse(write) is not None
    assert gate(tmp_path, open_=("machines/**",)).refuse(write) is None
    test = {"tool_name": "Write", "tool_input": {"file_path": "tests/test_a.py"}}
    assert gate(tmp_path, stakes=frozenset({"behaviour"})).refuse(test) is None


def hooked(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    return akc(folder, "gate", text=text)


def test_the_hook_says_no_as_agents_understand_it(tmp_path: Path) -> None:
    made(tmp_path)
    event = {**bash("echo x > CLAUDE.md"), "cwd": str(tmp_path), "session_id": "s"}
    done = hooked(tmp_path, json.dumps(event))
    assert done.returncode == 0
    said = json.loads(done.stdout)["hookSpecificOutput"]
    assert (said["hookEventName"], said["permissionDecision"]) == ("PreToolUse", "deny")
    assert "mklang akc propose CLAUDE.md" in said["permissionDecisionReason"]
    free = hooked(tmp_path, json.dumps({**bash("ls"), "cwd": str(tmp_path)}))
    assert (free.returncode, free.stdout) == (0, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"tool_name": "Write", "tool_input": {"file_path": ["CLAUDE.md"]}}',
        '{"tool_name": "Write", "tool_input": {"file_path": "CLAUDE.md\\u0000"}}',
        '{"tool_name": "Bash", "tool_input": {"command": {"x": 1}}}',
        "no json",
        "[]",
        "{}",
        '{"tool_name": 1, "tool_input": {}}',
        "[" * 100_000,
    ],
)
def test_what_cannot_be_read_is_refused(text: str, tmp_path: Path) -> None:
    made(tmp_path)
    done = hooked(tmp_path, text)
    assert done.returncode == 2
    assert "refuses" in done.stderr


def test_a_broken_configuration_refuses_instead_of_opening_the_gate(tmp_path: Path) -> None:
    made(tmp_path, config="gate: [nothing]\n")
    assert hooked(tmp_path, json.dumps(bash("ls"))).returncode == 2


def test_a_commit_of_rules_that_nobody_approved_is_refused(tmp_path: Path) -> None:
    world = made(tmp_path)

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        names = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        return subprocess.run(
            ["git", *names, *words], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
        )

    environment = plain_environment(PATH=f"{Path(sys.executable).parent}:{plain_environment()['PATH']}")
    git("init", "-q")
    hook = tmp_path / ".git/hooks/pre-commit"
    hook.write_text(akc(tmp_path, "gate", "--print-hook", "git").stdout)
    hook.chmod(0o755)
    (tmp_path / "app.py").write_text("x = 1\n")
    (tmp_path / "AGENTS.md").write_text("- smuggled\n")
    git("add", "app.py", "AGENTS.md")
    refused = git("commit", "-m", "x")
    assert (refused.returncode, "nobody approved" in refused.stderr) == (1, True), refused.stderr
    (tmp_path / "AGENTS.md").unlink()
    git("rm", "-q", "--cached", "AGENTS.md")
    assert akc(tmp_path, "propose", "--rule", "Be kind.").returncode == 0
    approve(tmp_path)
    git("add", "AGENTS.md")
    done = git("commit", "-m", "x")
    assert done.returncode == 0, done.stderr
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("def test(): pass\n")
    git("add", "tests")
    environment["CI"] = environment["CLAUDECODE"] = "1"
    assert git("commit", "-m", "x").returncode == 1
    del environment["CLAUDECODE"]
    assert git("commit", "-m", "x").returncode == 0
    assert world.cycle.ledger().rows
