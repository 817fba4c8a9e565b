"""What can be wrong with a document before it is a machine: every code of reading, permanent, with what to do.

The rules of the analysis explain themselves in their own files. Reading has no rules of its own to hang an explanation
on, so it stands here; a test keeps this table and the codes in use equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Problem:
    """One code: what is wrong, why it is refused or pointed out and what to do, an example and the same repaired.

    ``fix`` says what ``--fix`` does about it, where it can.
    """

    summary: str
    help: str
    wrong: str = ""
    right: str = ""
    fix: str = ""


PROBLEMS: Mapping[str, Problem] = MappingProxyType(
    {
        # The file
        "file-missing": Problem(
            "There is no such file.", "Check the path; commands look in the directory they are called in."
        ),
        "file-is-directory": Problem(
            "A directory stands where a file is needed, or it holds no machine.",
            "`check`, `lint`, `fmt` and `test` look at everything in a directory; other commands want one file.",
        ),
        "file-unreadable": Problem(
            "The file cannot be opened.", "The message ends with the operating system's reason; often it is a right."
        ),
        "file-too-large": Problem(
            "The document is larger than a machine should ever be.",
            "Split it into machines that call each other; data belongs into inputs.",
        ),
        "not-utf8": Problem(
            "The file is not UTF-8.", "The message names the line with the first bad byte. Save the file as UTF-8."
        ),
        "bad-character": Problem(
            "The document holds a control character or half a character.",
            "Such characters come from copying. Delete it, or write it as an escape in double quotes.",
        ),
        # The YAML
        "yaml-syntax": Problem(
            "The text is not YAML.",
            "Nothing behind the place can be read, so only the first such problem is reported. Most are texts that "
            "hold ': ', begin with a special sign, or hold braces: put the text in double quotes or in a block.",
            wrong="prompt: Reply as: JSON",
            right='prompt: "Reply as: JSON"',
        ),
        "yaml-alias": Problem(
            "An alias names an anchor that does not exist.",
            "'*name' repeats what '&name' marked further up. If it is meant as text, quote it.",
            wrong="when: *really* good",
            right='when: "*really* good"',
        ),
        "yaml-anchor": Problem(
            "An anchor is defined twice.", "Which of the two an alias means depends on its place. Rename one."
        ),
        "yaml-cycle": Problem(
            "A list or map contains itself through an alias.", "No value of a run can be like that. Write it out."
        ),
        "yaml-depth": Problem("Lists and maps are nested too deeply.", "A hundred levels are enough for any machine."),
        "yaml-documents": Problem(
            "A second document begins in the file.", "A file holds one machine. Delete the '---', or split the file."
        ),
        "yaml-expansion": Problem(
            "Expanding the aliases of the document would make it far too large.",
            "A few lines of aliases can stand for gigabytes. Write repeated parts once and refer to them less often.",
        ),
        "yaml-tag": Problem(
            "A tag ('!…') stands where none can be used.",
            "Values are plain JSON. If the exclamation mark begins a text, quote it.",
            wrong="ask: !important Publish this?",
            right='ask: "!important Publish this?"',
        ),
        "yaml-version": Problem("A %YAML line names another version.", "Delete the line."),
        "bad-merge": Problem("'<<' merges something that is no map.", "Name an anchored map: '<<: *name'."),
        # The shape
        "not-a-machine": Problem(
            "The document is empty, or its root is no map.", "A machine begins with its top-level keys."
        ),
        "bad-key": Problem(
            "A list or a map stands as a key.",
            "Most often a placeholder without quotes: YAML reads its braces as a map.",
            wrong="prompt: {{ name }}",
            right='prompt: "{{ name }}"',
        ),
        "duplicate-key": Problem(
            "A key stands twice in the same map.",
            "Other readers keep the last one without a word, so an edit of the first changes nothing. Delete one.",
            fix="deletes the second where both say the same",
        ),
        "missing-key": Problem("A required key is missing.", "The message names the key and what needs it."),
        "unknown-key": Problem(
            "The language has no such key here.",
            "A misspelt key is never ignored: it would silently do nothing. The hint names the closest key, or where "
            "the key belongs.",
            wrong="max-visits: 3",
            right="max_visits: 3",
            fix="writes the key as the language does when they differ only in case and in '-' or '_'",
        ),
        "wrong-kind": Problem("The key belongs to another kind of state or gate.", "The hint says where it belongs."),
        "conflicting-keys": Problem(
            "Two keys exclude each other.",
            "A gate has one policy, a state calls a tool or a machine, a fan-out is 'sample' or 'over', and a fail "
            "gate leads nowhere. Delete one of the two.",
            wrong="- { when: otherwise, fail: true, to: END }",
            right="- { when: otherwise, fail: true }",
        ),
        "wrong-type": Problem(
            "The value is of another type than the key takes.",
            "A number, 'true' or 'null' without quotes is no text, and a number in quotes is no number.",
            wrong="mklang: 0.4",
            right='mklang: "0.4"',
            fix="puts quotes around a number or a word where text is needed, and takes them off a number or a boolean",
        ),
        "bad-value": Problem(
            "The value is of the right type and not allowed.",
            "The message says what is.",
            wrong="then: Ok",
            right="then: ok",
            fix="writes a word as the language does when they differ only in case",
        ),
        "over-expression": Problem(
            "'over' does not hold exactly one placeholder.",
            "It names the list to work through, and nothing else. Other text beside the placeholder is a warning.",
            wrong="over: items",
            right='over: "{{items}}"',
        ),
        # Values
        "not-json": Problem(
            "The value is none that JSON has.", "The blackboard holds JSON. Quote it if it is meant as text."
        ),
        "ambiguous-scalar": Problem(
            "The word is text here and something else to other YAML readers.",
            "'no', 'on' and the like are booleans in older YAML, '010' and '1_000' are numbers. Quote it, or write "
            "true, false or the plain number. For a boolean word that is an error, because the two readings are "
            "opposites; for a number it is a warning.",
            wrong="context: { house_number: 010 }",
            right='context: { house_number: "010" }',
            fix="puts quotes around what looks like a number: that is what it means here",
        ),
        "unquoted-braces": Problem(
            "A text in braces without quotes became a map whose key has no value.",
            "A warning: quote it if it is meant as text.",
            wrong="context: { greeting: {name} }",
            right='context: { greeting: "{name}" }',
        ),
        "too-many-problems": Problem(
            "There are too many errors to list.", "The file is probably no machine; the first errors tell."
        ),
        "not-formattable": Problem(
            "`fmt` cannot rewrite the document without losing something.",
            "The message says what: a directive, a root in braces, a key marked with '?', an odd line break. The file "
            "is left as it is; nothing is wrong with it otherwise.",
        ),
        "machine-hides-bundled": Problem(
            "A machine has the name of one that comes with mklang, and is used in its place.",
            "Give it a name of its own, unless it is to take the other's place.",
        ),
        "machine-twice": Problem(
            "Two files hold a machine of the same name.",
            "A warning: a call means the later file, by name and folder. Give each machine its own name.",
        ),
    }
)
