"""Models behind an endpoint that speaks the chat completions API, through the official ``openai`` client.

The client sends and authenticates; everything else is ours (``mklang.llm.endpoint``, ``mklang.llm.transport``).
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace

from mklang.engine.requests import Produced
from mklang.errors import MissingExtra
from mklang.lang.values import Json
from mklang.llm.base import Exchange, Params
from mklang.llm.conversing import prompt_bytes
from mklang.llm.dialect import Dialect, output_limit
from mklang.llm.endpoint import Endpoint, NoThinking, Received
from mklang.llm.replies import read_completion
from mklang.llm.retry import Traffic
from mklang.llm.signals import Watch
from mklang.llm.streams import Assembler, Completion
from mklang.llm.transport import STALL_TIMEOUT, TIMEOUT, Sdk, Transport, check_key


class OpenAICompat(Endpoint):
    """One endpoint. What it learns about the endpoint (``Dialect``) it keeps per model, on itself and nowhere else."""

    def __init__(
        self,
        base_url: str,
        *,
        traffic: Traffic,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        stall: float = STALL_TIMEOUT,
        dialect: Dialect | None = None,
        watch: Watch | None = None,
    ) -> None:
        """Connects to nothing yet. Raises ``ConfigError`` for an address that may not be used (see ``check_url``), and
        ``MissingExtra`` without the extra ``openai``. ``timeout`` is in seconds, for one request, ``stall`` for the
        silence of a stream; ``dialect`` is what is known about the endpoint beforehand.
        """
        if importlib.util.find_spec("openai") is None:
            raise MissingExtra("a model behind an HTTP endpoint", "openai")
        key = check_key(api_key)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        transport = Transport(base_url, self._sdk, headers=headers, key=key, timeout=timeout, stall=stall)
        super().__init__(transport, ChatSpeech(dialect or Dialect()), traffic, watch)

    def _sdk(self) -> Sdk:
        import openai

        def client(http: object) -> object:
            return openai.AsyncOpenAI(
                api_key="none",  # the client wants one; the transport sends its own headers or none
                base_url=self.base_url,
                max_retries=0,
                http_client=http,  # type: ignore[arg-type] # made by the client's own class
            )

        return Sdk(openai, openai.OpenAIError, client)


class ChatSpeech:
    """The chat completions API; see ``Speech``."""

    path = "/chat/completions"

    def __init__(self, beforehand: Dialect) -> None:
        self._beforehand = beforehand
        self._dialects: dict[str, Dialect] = {}

    def body(self, exchange: Exchange, *, streamed: bool) -> dict[str, Json]:
        """See ``Speech.body``."""
        return self._dialect(exchange.model).body(exchange, streamed=streamed)

    def limit_of(self, body: Params) -> int | None:
        """See ``Speech.limit_of``."""
        return output_limit(body)

    def learn(self, exchange: Exchange, message: str, *, streamed: bool) -> bool:
        """See ``Speech.learn``."""
        dialect = self._dialect(exchange.model)
        learned = dialect.learn(exchange, message, streamed=streamed)
        if learned is None:
            return False
        self._dialects[exchange.model] = learned
        if exchange.reason and learned.thinking is not dialect.thinking:
            raise NoThinking
        return True

    def shows_thinking(self, exchange: Exchange) -> bool:
        """See ``Speech.shows_thinking``."""
        dialect = self._dialect(exchange.model)
        return dialect.thinks or dialect.thinking is not None

    def saw(self, exchange: Exchange, produced: Produced) -> None:
        """See ``Speech.saw``."""
        dialect = self._dialect(exchange.model)
        if produced.reasoning and not exchange.aside and not dialect.thinks:
            self._dialects[exchange.model] = replace(dialect, thinks=True)

    def stream(self) -> Assembler:
        """See ``Speech.stream``."""
        return Completion()

    def read(self, received: Received) -> Produced:
        """See ``Speech.read``."""
        return read_completion(
            received.body,
            received.origin,
            model=received.exchange.model,
            limit=received.limit,
            wait=received.wait,
            prompt=prompt_bytes(received.exchange),
        )

    def _dialect(self, model: str) -> Dialect:
        return self._dialects.get(model, self._beforehand)
