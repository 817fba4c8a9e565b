"""Whatever the text, reading it gives a machine or reasons, and never an exception."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mklang.diagnostics import has_errors
from mklang.lang.reader import Reading
from tests.lang.documents import SMALLEST, read
from tests.lang.test_reading_machines import EVERYTHING

BITS = st.sampled_from(
    [
        *(
            "{{",
            "}}",
            "{",
            "}",
            "[",
            "]",
            ": ",
            ":",
            "- ",
            "?",
            "&a ",
            "*a",
            "<<: *a",
            "!!int ",
            "!x ",
            "|",
            ">",
            "#",
            " #",
        ),
        *("\n", "\n\n", "\t", "  ", "\r", "\u2028", "\ufeff", "\0", "\x85", "\ud800", "---\n", "...\n", "%YAML 1.1\n"),
        *(
            '"',
            "'",
            "\\",
            "~",
            "null",
            "true",
            "no",
            "010",
            "1.5",
            "1e3",
            "9" * 40,
            ".nan",
            "\U0001f600",
            "END",
            "@",
            "`",
        ),
    ]
)
DOCUMENTS = st.sampled_from([SMALLEST, EVERYTHING])


def sane(reading: Reading) -> None:
    """What is true of every reading."""
    assert (reading.machine is None) == has_errors(reading.diagnostics)
    for one in reading.diagnostics:
        assert one.message
        assert one.render()
        assert not one.span or (one.span.line, one.span.column) <= (one.span.end_line, one.span.end_column)
        assert not one.span or one.span.column >= 1


@given(st.text() | st.lists(BITS, max_size=30).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    sane(read(text))
    sane(read(text, lenient=True))


@settings(max_examples=300)
@given(DOCUMENTS, st.data())
def test_a_machine_with_pieces_cut_out_and_put_in_can_be_read(document: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(document)))
        end = data.draw(st.integers(start, min(len(document), start + 8)))
        document = document[:start] + data.draw(BITS) + document[end:]
    sane(read(document))


@given(DOCUMENTS, st.data())
def test_a_machine_with_lines_dropped_doubled_or_moved_can_be_read(document: str, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(document.splitlines()), min_size=1, max_size=40))
    sane(read("\n".join(lines)))
