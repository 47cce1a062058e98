"""One case on the real scheduler, beside its plan: what differs after which node, and for which reason."""

from collections.abc import Iterator

from fusioninfer.lint import offline
from fusioninfer.lint.documents import Document
from intent.settings import Settings
from plan.forecast import Forecast, ForecastStep, forecast
from plan.services import workloads
from plan.supply import supply, with_pods
from tests.cluster.planning.bed import Bound, add_node, services
from tests.cluster.planning.cases import Case
from tests.cluster.testbed.cluster import Cluster


def planned(case: Case) -> tuple[list[dict[str, object]], Forecast]:
    """Return the objects of a case as a cluster would store them, and the plan for all of its nodes."""
    documents = [Document("case.yaml", at, one) for at, one in enumerate(case.objects)]
    made = offline.compose(documents, Settings())
    if made.denied:
        raise AssertionError([str(one) for one in made.found if one.error.severity == "error"])
    nodes = with_pods((supply(one) for one in case.nodes), (pod for pods in case.fillers for pod in pods))
    return [*made.objects], forecast(workloads(made.objects), nodes)


def differences(cluster: Cluster, case: Case) -> list[str]:
    """Run a case; return how the groups that are bound differ from the plan, after the first such node."""
    objects, plan = planned(case)
    with services(cluster, objects, plan.workloads) as namespace:
        for node, fillers, step in zip(case.nodes, case.fillers, plan.steps[1:], strict=True):
            found = add_node(cluster, namespace, node, fillers)
            if differing := list(_differing(plan, step, found)):
                return [f"with {step.nodes} nodes: {what}" for what in differing]
    return []


def _differing(plan: Forecast, step: ForecastStep, found: Bound) -> Iterator[str]:
    """Yield the roles of which other numbers of groups are whole, and those of gangs with groups in part.

    Groups of a role are equal but for the order of their pods, so any of them may be the ones that start.
    """
    for at, one in enumerate(plan.workloads):
        for number, role in enumerate(one.roles):
            counts = [found.get((role.name, group), 0) for group in range(role.replicas)]
            whole = counts.count(role.size)
            least = step.counts[at, number]
            most = least + sum(key[:1] == (at,) and key[1][0] == number for key in step.uncertain)
            if not least <= whole <= most:
                yield f"{role.role} of {one.name}: {whole} whole groups, planned {least} to {most}"
            if one.gang and (parts := set(counts) - {0, role.size}):
                yield f"{role.role} of {one.name}: groups in part, with {sorted(parts)} of {role.size} pods"
