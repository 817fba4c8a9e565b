"""What is kept of a Python file: for each function a graph of where values go, flow-sensitive, callees unresolved.

A file's facts depend on its text, the models and the configuration alone, so they can be cached. Numbers are nodes of a
function's graph; ``-1`` stands for a value that nothing can reach. References are text:

- ``pkg.mod.name`` is a name as the imports spell it out;
- ``T:TYPE:method`` a method of an object whose type is known, ``S:CLASS:method`` the same after ``super()``;
- ``?:method`` a method of something unknown, ``V`` a value that is called.

A ``TYPE`` is ``pkg.Class``, ``A:pkg.Class:attribute`` (what the attribute holds) or ``R:pkg.function`` (what it gives).
"""

from __future__ import annotations

import msgspec

PLAIN, WEAK = 0, 1
APPROVED, COUNTED = -2, -3
"""What a test may look at besides nodes: a person's yes, and an order of numbers."""
RECEIVER = "."


def said_name(name: str) -> str:
    """A function's name as the text says it. The second that is defined under a name in a file is ``name~2``."""
    head, dot, last = name.rpartition(".")
    return f"{head}{dot}{last.partition('~')[0]}"


class Call(msgspec.Struct, array_like=True, gc=False):
    """A call. ``kind`` is what the models say of it: ``source``, ``clean`` (the result is checked), ``raises`` (the
    argument is, or it raises), ``predicate``, ``cut`` (nothing gets through), or empty.

    ``items`` are the parts of a result that is taken apart at once. ``posts`` are what an argument is after the call,
    ``truths`` what it is where the call said yes (1) or no (0).
    """

    ref: str
    line: int
    column: int
    result: int
    kind: str = ""
    weak: bool = False
    receiver: int = -1
    value: int = -1
    args: list[tuple[str, int]] = []
    posts: list[tuple[str, int, int]] = []
    truths: list[tuple[str, int, int, int]] = []
    items: list[tuple[int, int]] = []
    hints: list[tuple[str, list[str]]] = []
    functions: list[tuple[str, str]] = []


class Sink(msgspec.Struct, array_like=True, gc=False):
    """A place where a value becomes durable or is executed. ``effect`` is ``write``, ``append``, ``name`` (the value
    says which file), ``execute`` or ``log``; ``hints`` are what is known of the place written to. ``call`` is the
    number of a call that is a sink by its last name alone: if it is a method of ours, that one is looked at.
    """

    node: int
    line: int
    column: int
    what: str
    effect: str
    layer: str = ""
    hints: list[str] = []
    control: list[int] = []
    call: int = -1


class Loop(msgspec.Struct, array_like=True, gc=False):
    """A loop that might have no end of its own: the nodes its exits depend on, and the calls in it."""

    line: int
    column: int
    exits: list[list[int]]
    calls: list[int]
    retry: bool = False


class Function(msgspec.Struct, array_like=True, gc=False):
    """One function, method, lambda or module body."""

    name: str
    line: int
    params: list[str] = []
    owner: str = ""
    bound: bool = False
    star: int = -1
    double: int = -1
    marks: list[str] = []
    returns: str = ""
    lines: list[int] = []
    columns: list[int] = []
    edges: list[tuple[int, int, int]] = []
    calls: list[Call] = []
    sinks: list[Sink] = []
    loops: list[Loop] = []
    verdicts: list[tuple[int, int, int, str]] = []
    reads: list[tuple[str, str, int, int]] = []
    writes: list[tuple[str, str, int]] = []
    global_reads: list[tuple[str, int]] = []
    global_writes: list[tuple[str, int]] = []
    references: list[tuple[str, int]] = []
    free: list[tuple[str, int]] = []
    cells: list[tuple[str, int]] = []
    result: int = -1
    items: list[tuple[int, int]] = []
    whole: bool = False
    exits: list[tuple[int, int, int]] = []
    model_params: list[int] = []
    asking: list[int] = []

    def asks_a_model(self) -> bool:
        """Whether a model is asked here, or the function says that it does."""
        said = any(mark.rpartition(".")[2] == "model_call" for mark in self.marks)
        return said or bool(self.model_params or self.asking) or any(call.kind == "source" for call in self.calls)


class ClassFacts(msgspec.Struct, array_like=True, gc=False):
    """A class: its bases, methods, and the types of its attributes as far as its own text tells."""

    name: str
    line: int
    bases: list[str] = []
    methods: list[str] = []
    fields: list[str] = []
    types: dict[str, str] = {}
    marks: list[str] = []


class Header(msgspec.Struct, array_like=True, gc=False):
    """What is always known of a file: the words in it, by what is done with them. What a name was imported as counts
    beside what it is. ``asks`` says that a model may be asked in it, ``problem`` why it could not be read."""

    module: str
    path: str
    problem: str = ""
    problem_line: int = 0
    functions: int = 0
    asks: bool = False
    called: list[str] = []
    attributes: list[str] = []
    names: list[str] = []
    methods: list[str] = []
    bases: list[str] = []
    aliases: list[tuple[str, str]] = []


class FileFacts(msgspec.Struct, array_like=True, gc=False):
    """One file. ``roots`` are the packages of which it was asked whether they belong to the project."""

    module: str
    path: str
    imports: dict[str, str] = {}
    stars: list[str] = []
    constants: dict[str, list[str]] = {}
    functions: list[Function] = []
    classes: list[ClassFacts] = []
    suppressions: list[tuple[int, list[str], str]] = []
    roots: list[str] = []


decode = msgspec.msgpack.Decoder(FileFacts).decode
encode = msgspec.msgpack.Encoder().encode
