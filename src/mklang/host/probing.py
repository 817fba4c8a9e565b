"""One cheap live look at every model that a run here would ask, told as findings (L115)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mklang.errors import HostError
from mklang.host.doctor import Examined, Finding, Grade
from mklang.host.places import Place, Places, Surroundings
from mklang.host.seam import REAL, Seam
from mklang.lang.models import Tier
from mklang.llm.anthropic import AnthropicMessages
from mklang.llm.local import LocalModel
from mklang.llm.probing import Probed, probe_chat, probe_local, probe_messages


@dataclass(frozen=True, slots=True)
class _Target:
    """A model at a place, and what it is for."""

    place: Place | None
    model: str
    tiers: tuple[str, ...]


async def probe(examined: Examined, *, seam: Seam = REAL) -> list[Finding]:
    """Ask each model once; nothing where no run could start. Judges that are no tier's model are not asked."""
    findings: list[Finding] = []
    for target in _targets(examined, seam):
        begun = seam.elapsed()
        try:
            found = await _look(target)
        except HostError as error:
            found = Probed(problem=str(error))
        found.seconds = seam.elapsed() - begun
        findings.append(_finding(target, found))
    return findings


def _targets(examined: Examined, seam: Seam) -> Iterator[_Target]:
    settled, models = examined.configuration, examined.models
    if settled is None or models is None:
        return
    place = None
    if settled.models is not None:
        around = Surroundings(environ=settled.variables, seam=seam)
        place = Places(settled.models, around).of(settled.models.provider())
    ids: dict[str, list[str]] = {}
    for tier in Tier:
        ids.setdefault(models.tiers[tier].model, []).append(tier.value)
    yield from (_Target(place, model, tuple(tiers)) for model, tiers in ids.items())


async def _look(target: _Target) -> Probed:
    place = target.place
    backend = LocalModel.embedded() if place is None else place.make(target.model)
    if isinstance(backend, LocalModel):
        try:
            return await probe_local(backend)
        finally:
            await backend.aclose()
    if place is None or place.address is None:
        return Probed(problem="it has no address")
    look = probe_messages if isinstance(backend, AnthropicMessages) else probe_chat
    return await look(place.address, target.model, place.key)


def _finding(target: _Target, found: Probed) -> Finding:
    name = f"probe {target.model}"
    where = f" at {target.place.address}" if target.place is not None and target.place.address else " in this process"
    if found.problem:
        return Finding(name=name, text=f"{found.problem}{where}", grade=Grade.ERROR, probed=found)
    yes = {True: "yes", False: "no"}
    words = [
        f"answers{where} ({', '.join(target.tiers)}; {found.seconds:.1f} s, {found.tokens} tokens)",
        f"window {found.window or 'not told'}",
        f"JSON {_JSON[found.json]}",
        f"log-probabilities {yes[found.logprobs]}",
        f"thinking {f'in {found.thinking!r}' if found.thinking else 'not shown'}",
        f"usage in stream {yes[found.usage_in_stream]}",
        *([f"refuses {', '.join(found.refused)}"] if found.refused else []),
    ]
    return Finding(name=name, text="; ".join(words), probed=found)


_JSON = {"schema": "held to a schema", "object": "as an object", "no": "not held to it"}
