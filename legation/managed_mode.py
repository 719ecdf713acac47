"""`legation run` as its own authority: it issues identities, runs proxies, and guards the port for Envoys."""

import asyncio
from collections.abc import Callable, Sequence

from k8s_watch.change import Change
from legation.addresses import HostPort
from legation.change import Stated
from legation.channel.authority import server
from legation.channel.kept_authority import KeptAuthority
from legation.channel.revocation import Gate
from legation.engine import Guard
from legation.other_replicas import own_service
from legation.permissions import AUTHORITY
from legation.pods.keeper import PodsKeeper
from legation.proxies.keeper import Keeper
from legation.proxies.managed import Environment
from legation.proxies.ways import Ways
from legation.settings import RunSettings
from legation.workbench import Batch, Kept, Outcome
from translator.names import Name
from translator.objects.kinds import Object
from translator.rules.managed import RUNS_PROXIES


class ManagedMode:
    """The authority, the gate that asks for what it issued, and the keepers of what it makes."""

    def __init__(
        self,
        settings: RunSettings,
        ways: Ways,
        put: Callable[[Batch], None],
        review: Callable[[str], None],
    ) -> None:
        """Make the parts and connect them; nothing runs yet."""
        name = own_service(settings).server_name
        place = Name(settings.namespace, AUTHORITY)
        self.authority = KeptAuthority(ways.writer, place, server([name]), self._look)
        environment = Environment(
            HostPort(name, settings.xds.port), name, settings.envoy_image, settings.proxies_listen_at
        )
        self._put = put
        self._gate = Gate(review)
        self._keeper = Keeper(ways, environment, lambda: self.authority.roots, self._tell)
        self._pods = PodsKeeper(ways)

    @property
    def facts(self) -> Batch:
        """What the translation has to know from the beginning."""
        return (Stated(RUNS_PROXIES, value=True),)

    @property
    def guard(self) -> Guard:
        """Say by what the port for Envoys is guarded."""
        return Guard(self.authority.proof, self._gate.group_of)

    async def keep(self) -> None:
        """Do what only one replica does, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keeper.run())
            tasks.create_task(self._pods.run())

    def overhear(self, kind: type, changes: Sequence[Change[Object]]) -> None:
        """Learn which identities count."""
        self._gate.overhear(kind, changes)

    def take(self, outcome: Outcome) -> None:
        """Learn what Gateways and XBackends need."""
        self._keeper.take(outcome.proxies)
        self._pods.take(outcome.pods)

    def _look(self) -> None:
        self._keeper.look()

    def _tell(self, gateway: Name, trouble: str) -> None:
        self._put((Kept(gateway, trouble),))
