"""``mklang divergence``: judges on pinned outputs with known answers, and the bars they must clear (S4, S30)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from mklang.cli.output import Output, output_options

JUDGES = ("configured", "choice", "noul")


@click.command(short_help="Measure judges on a pinned corpus, against their bars.")
@click.option("--config", metavar="FILE", help="The runtime configuration to use.")
@click.option("--provider", "providers", multiple=True, metavar="NAME", help="A provider to measure; may be repeated.")
@click.option("--model", metavar="NAME|FILE", help="A model of the provider, or a GGUF file to run in-process.")
@click.option("--base-url", metavar="URL", help="A server that speaks the OpenAI protocol; needs --model.")
@click.option("--judge", "judges", multiple=True, type=click.Choice(JUDGES), help="How to judge; may be repeated.")
@click.option("--bars", is_flag=True, help="Hold each judge against the bars of ADR 0037; STOP when one is missed.")
@click.option("--machines", default="all", metavar="A,B|all", help="Machines or purposes of the corpus.")
@click.option("--no-injections", is_flag=True, help="Leave out the outputs that try to speak for the author.")
@click.option("--limit", type=click.IntRange(min=2), metavar="N", help="Only so many cases, spread over the corpus.")
@click.option("--repeats", type=click.IntRange(min=1), default=1, metavar="R", help="Runs of every case (1).")
@click.option("--paraphrase", is_flag=True, help="Also ask with the conditions in other words.")
@click.option("--live", is_flag=True, help="Let the models write the outputs as well.")
@click.option("--jsonl", metavar="FILE", help="Append every run as a line.")
@click.option("--summary-json", metavar="FILE", help="Write the summary.")
@click.option("--report", metavar="DIR", help="Write a page with plots, and the raw rows.")
@click.option("--min-agreement", type=click.FloatRange(0, 1), help="Fail below this agreement.")
@click.option("--min-accuracy", type=click.FloatRange(0, 1), help="Fail below this accuracy.")
@click.option("--min-paraphrase-invariance", type=click.FloatRange(0, 1), help="Fail below this; needs --paraphrase.")
@click.option("--ledger", metavar="FILE", help="The spend ledger of all live measurements.")
@click.option("--max-usd", type=click.FloatRange(min=0), default=10.0, help="The ledger's hard cap in US dollars (10).")
@click.option("--run-usd", type=click.FloatRange(min=0), default=0.002, help="What one run may cost at most (0.002).")
@output_options(json_when_piped=False)
def command(*, out: Output, providers: Sequence[str], judges: Sequence[str], **options: Any) -> int:
    """Put pinned outputs with known answers before judges, and say how often they are right.

    Exit code 1 when a run failed, a floor was not reached or a bar was missed, 2 with fewer than two runs that ended.
    """
    from mklang.cli.measuring_judges import Asked, run

    return run(Asked(providers=tuple(providers), judges=tuple(judges) or ("configured",), **options), out)
