"""What `legation run` has to do with other replicas: finds them, follows them, tells them of its Envoys."""

import asyncio
from collections.abc import Callable, Mapping

from msgspec import Struct

from k8s_watch.informer import Informer
from k8s_watch.reader import Reader
from legation.channel.authority import Credential
from legation.channel.badge import Badge, refusal
from legation.journal import Journal
from legation.peers import Others, Peers
from legation.quarantined import Held
from legation.replica_slices import ReplicaSlices, slices_of
from legation.settings import RunSettings
from legation.telling import Telling
from translator.names import Name
from xds_server.feed import Feed


class OwnService(Struct, frozen=True):
    """The Service of the control plane, and the port at which its endpoints serve Envoys."""

    name: Name
    port: int

    @property
    def server_name(self) -> str:
        """What the certificate of every replica proves."""
        return f"{self.name.name}.{self.name.namespace}.svc"


def own_service(settings: RunSettings) -> OwnService:
    """Say by which Service a replica is reached."""
    return OwnService(Name(settings.namespace, settings.service), settings.xds.port)


class OtherReplicas:
    """All of them; their slices are read apart from what is translated, whose namespaces may be others."""

    def __init__(
        self,
        service: OwnService,
        reader: Reader,
        roots: Callable[[], tuple[Credential, ...]],
        noted: Callable[[], None],
    ) -> None:
        """Find them behind our Service, prove by these roots to be one, and note it when they have news."""
        self._journal = Journal()
        badge = Badge(roots, service.server_name)
        self._peers = Peers(self._journal.teller, badge.show, noted)
        slices = ReplicaSlices(service.port, self._peers.find)
        watched = slices_of(service.name.name)
        self._informer = Informer(watched, reader, slices.listen, (service.name.namespace,))

    @property
    def feed(self) -> Feed:
        """What they are told on the port for Envoys."""
        return Feed(refusal, self._journal.follow)

    async def complete(self) -> None:
        """Return once each was heard, or was waited for long enough."""
        await self._peers.complete()

    def known(self) -> Others:
        """Say what is known of their Envoys."""
        return self._peers.others()

    def confide(self, here: Mapping[str, Telling], held: Mapping[str, Held]) -> None:
        """Tell them of our Envoys, and what we hold back for their sake."""
        self._journal.keep(here, held)

    async def run(self) -> None:
        """Find and follow them, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informer.run())
            tasks.create_task(self._peers.run())
