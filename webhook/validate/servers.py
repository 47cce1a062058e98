"""Pods of vLLM that serve each for themselves: what their engines, or the supervisor of several, refuse."""

from collections.abc import Iterator

from intent.command_line.flags import LOCAL_DATA, SERVERS, SUPERVISOR
from intent.launch import Launch, has_tls, is_size, text_of
from intent.ranks import Ranks, balance
from intent.served import HIGHEST, MOST_SERVED, bounded
from intent.service.routes import MOST_PORTS
from webhook.layout import Input
from webhook.serving import servers


def of_servers(leader: Launch, worker: Launch, found: Ranks | None, given: Input) -> Iterator[str]:
    """Yield what is wrong with the servers of the pods, as the end of a sentence about the flag."""
    mode = balance(leader)
    counts = found.of_pods(given.intent.size) if found else ()
    if mode != "internal" and 0 in counts:
        yield f"needs a rank in every pod, since every pod serves: raise --{LOCAL_DATA}, or remove the flag"
    elif mode == "multi-port":
        yield from _of_supervisor(leader, counts, found.data if found else 0)
        yield from _of_ports(leader, worker, given)


def _of_supervisor(leader: Launch, counts: tuple[int, ...], data: int) -> Iterator[str]:
    """Yield what the supervisor of several servers refuses (`validate_multi_port_external_lb_args`)."""
    if has_tls(leader):
        yield "has no TLS: remove --ssl-certfile"
    if text_of(leader, SERVERS) not in {"", "1"}:
        yield f"starts one server a rank: remove --{SERVERS}"
    if any(count < 2 or data % count for count in counts):
        yield f"needs a --{LOCAL_DATA} of 2 or more that divides {data}"
    elif len({*counts}) > 1:
        yield f"gives all pods the same ports: write the same --{LOCAL_DATA} in both templates"


def _of_ports(leader: Launch, worker: Launch, given: Input) -> Iterator[str]:
    """Yield what is wrong with the ports of a pod, one for each rank and that of the supervisor."""
    asked = servers(leader, worker, given.intent.size)
    ports, own = asked.ports, text_of(leader, SUPERVISOR)
    if own and not (is_size(own) and int(own) <= HIGHEST):
        yield f"needs a --{SUPERVISOR} of 1 to {HIGHEST}"
    elif asked.supervisor in ports:
        yield f"needs a --{SUPERVISOR} beside those of the ranks, {ports[0]} and up"
    elif bounded(asked) != asked:
        yield f"needs a port for each rank of a pod, of at most {MOST_SERVED - 1} ranks, up to {HIGHEST}"
    elif len(ports) > MOST_PORTS and given.intent.routing.wanted:
        limit = f"an InferencePool at most {MOST_PORTS} ports"
        yield f"has {len(ports)} ranks a pod, {limit}: lower --{LOCAL_DATA}"
