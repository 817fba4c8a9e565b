"""Tools that reach the world report in one form, reach what the host allows, and claim nothing they did not do."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest

from mklang.engine.options import Effect
from mklang.errors import ConfigError
from mklang.tools.http import HttpRules, http_tool
from mklang.tools.kb import FACT_CHARS, DemoFacts, FolderBase, NoFacts, kb_tool
from mklang.tools.mail import FakeDelivery, NoDelivery, SmtpDelivery, mail_tool
from mklang.tools.registry import ToolRegistry
from mklang.tools.search import FakeSearch, NoSearch, Tavily, search_tool
from mklang.tools.standard import Reach, standard_tools
from tests.tools.calling import told
from tests.tools.servers import mail_server, web

JSON = {"content-type": "application/json"}


@pytest.mark.rule("L105")
def test_without_anything_bound_every_tool_is_an_honest_stub() -> None:
    tools = ToolRegistry(standard_tools(Reach()))
    search = told(tools, "search", query="x")
    assert (search["stub"], search["results"], "no search back-end" in search["message"]) == (True, [], True)
    facts = told(tools, "search_kb", q="returns")
    assert (facts["stub"], len(facts["facts"]), "made up" in facts["note"]) == (True, 3, True)
    sent = told(tools, "send_reply", draft="Dear customer")
    assert (sent["stub"], sent["sent"], sent["recorded"], sent["delivery"]) == (True, False, False, "stub")
    assert (sent["to"], sent["chars"], sent["preview"]) == ("customer", 13, "Dear customer")
    assert "allowed is none" in told(tools, "http", url="https://example.com")["error"]
    assert tools.effects == {"http": Effect.EGRESS}
    assert {tool.name for tool in tools.values()} == {
        "calc", "search", "search_kb", "send_reply", "list_files", "read_file", "write_file", "http",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "input", "where"),
    [
        ("search", {}, "missing required field `query`"),
        ("search", {"query": ""}, "$.query"),
        ("search", {"query": "x", "max_results": 11}, "$.max_results"),
        ("search", {"query": "x", "days": "soon"}, "$.days"),
        ("search", {"query": "x", "topic": "sport"}, "$.topic"),
        ("search", {"query": "x", "limit": 1}, "unknown field `limit`"),
        ("search_kb", {}, "'query' is empty"),
        ("send_reply", {"to": "a@b.c"}, "'body' is empty"),
        ("read_file", {"path": ["x"]}, "$.path"),
        ("http", {"url": "x", "method": "TRACE"}, "$.method"),
    ],
)
def test_an_input_that_does_not_fit_is_a_report_not_a_halt(name: str, input: dict[str, object], where: str) -> None:
    report = told(ToolRegistry(standard_tools(Reach())), name, **input)  # type: ignore[arg-type]
    assert where in report["error"]


def test_made_up_results_say_that_they_are() -> None:
    tools = ToolRegistry([search_tool(FakeSearch()), mail_tool(outbox := FakeDelivery()), kb_tool(NoFacts())])
    found = told(tools, "search", query="tea", max_results="2")
    assert (found["stub"], len(found["results"])) == (True, 2)
    assert told(tools, "send_reply", body="hi", to="a")["delivery"] == "fake"
    assert [letter.body for letter in outbox.outbox] == ["hi"]
    assert FakeDelivery().outbox == []  # nobody shares it
    assert told(tools, "search_kb", query="x")["facts"] == []


def test_the_real_search_sends_the_key_to_its_address_only_and_clips_what_comes() -> None:
    page = {
        "results": [
            {"title": "T" * 400, "url": "https://x", "content": "ü", "published_date": "2026"},
            {"title": "t", "url": "u", "content": "c"},
        ]
    }
    with web({"/search": (200, JSON, json.dumps(page).encode())}) as server:
        tools = ToolRegistry([search_tool(Tavily(api_key="tvly-secret", base_url=server.base))])
        report = told(tools, "search", query="tea", max_results=1, days=3, topic="news")
    assert tools.effects == {"search": Effect.EGRESS}
    (method, _, headers, body) = server.asked[0]
    assert (method, headers["authorization"]) == ("POST", "Bearer tvly-secret")
    assert json.loads(body) == {"query": "tea", "max_results": 1, "topic": "news", "days": 3}
    (result,) = report["results"]
    assert result["title"] == "T" * 288 + "…[truncated]"
    assert (result["snippet"], result["published_date"], report["stub"]) == ("ü", "2026", False)


@pytest.mark.parametrize(
    "page",
    [
        (500, {}, b"down"),
        (401, {}, b"who are you"),
        (302, {"location": "http://127.0.0.1:1/elsewhere"}, b""),
        (200, {}, b"no json"),
        (200, {}, b'{"results": 5}'),
        (200, {}, b"[]"),
    ],
)
def test_an_outage_of_the_search_is_an_error_without_the_key(page: tuple[int, dict[str, str], bytes]) -> None:
    with web({"/search": page}) as server:
        tools = ToolRegistry([search_tool(Tavily(api_key="tvly-secret", base_url=server.base))])
        report = told(tools, "search", query="tea")
    assert report["status"] == "error"
    assert "tvly-secret" not in json.dumps(report)
    assert len(server.asked) == 1


def closed_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def test_whoever_is_not_there_is_an_error() -> None:
    port = closed_port()
    rules = HttpRules.allowing([f"http://127.0.0.1:{port}"])
    smtp = SmtpDelivery(host="127.0.0.1", port=port, sender="a@b.c", recipients=frozenset({"@b.c"}), security="none")
    tools = ToolRegistry(
        [search_tool(Tavily(api_key="k", base_url=f"http://127.0.0.1:{port}")), http_tool(rules), mail_tool(smtp)]
    )
    assert "did not answer" in told(tools, "search", query="x")["error"]
    assert "no answer" in told(tools, "http", url=f"http://127.0.0.1:{port}/")["error"]
    unsent = told(tools, "send_reply", body="x", to="x@b.c")
    assert ("cannot be reached" in unsent["error"], unsent["sent"]) == (True, False)


def test_the_knowledge_base_finds_paragraphs_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Returns\n\nA parcel is returned within 30 days.\n\nRefunds take a week.\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.txt").write_text("Café opens at nine.\n")
    (tmp_path / ".secret.txt").write_text("parcel password")
    (tmp_path / "code.py").write_text("parcel = 1")
    (tmp_path / "link.txt").symlink_to("/etc/hostname")
    tools = ToolRegistry([kb_tool(FolderBase(tmp_path))])
    found = told(tools, "search_kb", query="When is a parcel returned?")
    assert found["facts"][0] == "A parcel is returned within 30 days."
    assert found["sources"][0] == {"path": "a.md", "line": 3}
    assert found["stub"] is False
    assert told(tools, "search_kb", query="cafe")["sources"] == [{"path": "deep/b.txt", "line": 1}]
    assert told(tools, "search_kb", query="password")["note"] == "nothing was found"
    (tmp_path / "new.md").write_text("A zeppelin.")
    assert told(tools, "search_kb", query="zeppelin")["facts"] == ["A zeppelin."]  # seen without a restart


@pytest.mark.parametrize("query", ['a" OR 1=1 --', "NEAR(", "*", "text:x", "AND OR NOT", "'; DROP TABLE facts", "^a"])
def test_a_question_is_words_never_a_query_language(tmp_path: Path, query: str) -> None:
    (tmp_path / "a.md").write_text("something else entirely")
    report = told(ToolRegistry([kb_tool(FolderBase(tmp_path))]), "search_kb", query=query)
    assert report["status"] == "ok"


def test_a_long_paragraph_comes_in_pieces_and_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word " * 1000)
    facts = told(ToolRegistry([kb_tool(FolderBase(tmp_path))]), "search_kb", query="word", max_results=50)["facts"]
    assert max(map(len, facts)) <= FACT_CHARS
    assert len(facts) == 3
    gone = ToolRegistry([kb_tool(FolderBase(tmp_path / "gone"))])
    assert "cannot be read" in told(gone, "search_kb", query="x")["error"]


def smtp(port: int) -> SmtpDelivery:
    return SmtpDelivery(
        host="127.0.0.1",
        port=port,
        sender="shop@example.com",
        recipients=frozenset({"ann@example.com", "@shop.example"}),
        security="none",
    )


def test_a_letter_reaches_the_mail_server() -> None:
    with mail_server() as box:
        tools = ToolRegistry([mail_tool(smtp(box.port))])
        sent = told(tools, "send_reply", body="Grüße\n.\nAnn", to="Ann@Example.com", subject="Your order ü")
    assert (sent["sent"], sent["recorded"], sent["delivery"], sent["stub"]) == (True, True, "smtp", False)
    ((to, text),) = box.mails
    assert to == ["Ann@Example.com"]
    assert "From: shop@example.com" in text
    assert tools["send_reply"].repeatable is False


@pytest.mark.parametrize(
    "to",
    [
        "customer",
        "eve@evil.example",
        "ann@example.com.evil.example",
        "eve@evil.example,ann@example.com",
        "ann@example.com\r\nBcc: eve@evil.example",
        "eve@evil.example <ann@example.com>",
        "@shop.example",
        '"x@evil.example"@shop.example',
        "x@sub.shop.example",
    ],
)
def test_nobody_else_is_written_to(to: str) -> None:
    with mail_server() as box:
        report = told(ToolRegistry([mail_tool(smtp(box.port))]), "send_reply", body="x", to=to)
    assert ("may not be written to" in report["error"], report["sent"], box.mails) == (True, False, [])


def test_a_subject_cannot_add_a_header_and_a_refusal_is_an_error() -> None:
    with mail_server() as box:
        tools = ToolRegistry([mail_tool(smtp(box.port))])
        report = told(tools, "send_reply", body="x", to="ann@example.com", subject="a\r\nBcc: eve@evil.example")
        assert "cannot be written" in report["error"]
        box.refuse = "550 no such user"
        refused = told(tools, "send_reply", body="x", to="ann@example.com")
    assert ("refused" in refused["error"], refused["sent"], box.mails) == (True, False, [])
    assert "hunter2" not in repr(SmtpDelivery(host="h", sender="s", recipients=frozenset(), password="hunter2"))


def test_http_asks_allowed_hosts_within_bounds() -> None:
    pages = {
        "/a": (200, {"content-type": "text/plain"}, "grün".encode()),
        "/long": (200, {}, b"x" * 1000),
        "/moved": (302, {"location": "/a"}, b""),
        "/loop": (302, {"location": "/loop"}, b""),
        "/out": (302, {"location": "http://localhost:1/a"}, b""),
        "/file": (302, {"location": "file:///etc/passwd"}, b""),
    }
    with web(pages) as server:
        tools = ToolRegistry([http_tool(HttpRules.allowing([server.base]))])
        page = told(tools, "http", url=f"{server.base}/a")
        assert (page["http_status"], page["body"], page["content_type"]) == (200, "grün", "text/plain")
        cut = told(tools, "http", url=f"{server.base}/long", max_bytes=10)
        assert (cut["body"], cut["truncated"]) == ("x" * 10, True)
        assert told(tools, "http", url=f"{server.base}/moved")["body"] == "grün"
        assert "redirected more than" in told(tools, "http", url=f"{server.base}/loop")["error"]
        for way, reason in (("/out", "is not allowed"), ("/file", "no web address")):
            assert reason in told(tools, "http", url=server.base + way)["error"]
        missing = told(tools, "http", url=f"{server.base}/nowhere")
        assert (missing["error"], missing["http_status"]) == ("the host answered with status 404", 404)
        asked = len(server.asked)
        assert "POST is not allowed" in told(tools, "http", url=f"{server.base}/a", method="POST")["error"]
        assert len(server.asked) == asked


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/",
        "https://api.example.com.evil.example/",
        "https://api.example.com:444/",
        "http://api.example.com/",
        "https://user:pw@api.example.com/",
        "https://api.example.com@evil.example/",
        "file:///etc/passwd",
        "ftp://api.example.com/",
        "https://",
        "https://api.example.com:99999/",
        "//api.example.com/",
        "",
    ],
)
def test_no_other_address_is_asked(url: str) -> None:
    report = told(ToolRegistry([http_tool(HttpRules.allowing(["api.example.com"]))]), "http", url=url)
    assert report["status"] == "error"
    assert any(word in report["error"] for word in ("not allowed", "no web address", "name and password"))


def test_http_that_may_change_something_is_an_effect() -> None:
    with web({"/a": (200, {}, b"ok")}) as server:
        tools = ToolRegistry([http_tool(HttpRules.allowing([server.base], ["get", "post"]))])
        assert told(tools, "http", url=f"{server.base}/a", method="POST", body="x=ü")["body"] == "ok"
    assert server.asked[0][3] == "x=ü".encode()
    assert tools["http"].effect is Effect.EFFECT
    assert "http" not in tools.repeatable


@pytest.mark.parametrize("host", ["", "https://", "a/b", "https://x/y", "u@h", "ftp://h", "h:port", "https://h?x"])
def test_what_is_no_host_is_refused_in_the_rules(host: str) -> None:
    with pytest.raises(ConfigError, match="no host"):
        HttpRules.allowing([host])


def test_a_method_that_is_none_is_refused_in_the_rules() -> None:
    with pytest.raises(ConfigError, match="TRACE"):
        HttpRules.allowing([], ["TRACE"])
    assert isinstance(DemoFacts().find("", 1)[0].text, str)
    assert (NoSearch().live, NoDelivery().stub) == (False, True)


def test_without_the_package_the_report_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    tools = ToolRegistry([search_tool(Tavily(api_key="k")), http_tool(HttpRules.allowing(["example.com"]))])
    assert "mklang[tools]" in told(tools, "search", query="x")["error"]
    assert "mklang[tools]" in told(tools, "http", url="https://example.com/")["error"]
