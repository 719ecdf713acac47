"""Keeps in the cluster what Gateways need to be served: their identities, and proxies where we run them.

Only who leads does this. What somebody changes or deletes is put back; what is no longer wanted is deleted;
what has a name that we need and is not ours is left alone and told of.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType

import msgspec
import structlog
from msgspec import structs

from k8s_watch.change import Absent, Change, Synced
from k8s_watch.informer import Informer
from k8s_watch.list_watch import Pace
from legation.channel.authority import SKEW, Credential, proxy_of
from legation.channel.identity_secrets import leaf_of, proxy_secret
from legation.channel.revocation import oldest_valid
from legation.channel.rotation import renewed_leaf
from legation.due import Due
from legation.proxies.handover import HOLDER, handover
from legation.proxies.made import SORTS, Found, Key, Ledger, key_of
from legation.proxies.managed import Environment, Manifest, manifests
from legation.proxies.wanted import Wanted
from legation.proxies.ways import TroubleError, Ways
from legation.turns import aside
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.objects.kinds import name_of
from translator.objects.secret import Secret
from translator.rules.managed import proxy_name

AT_ONCE = 8  # Gateways at the same time
COMPLAIN_AFTER = 10.0  # seconds
LOOK_AGAIN = 120.0  # seconds between two looks at whether an identity nears its end, or is to be taken back

Roots = Callable[[], tuple[Credential, ...]]
Tell = Callable[[Name, str], None]

_NOTHING: Mapping[Name, Wanted | None] = MappingProxyType({})


class Keeper:
    """What Gateways need, as it should be, and as it is."""

    def __init__(self, ways: Ways, environment: Environment, roots: Roots, tell: Tell) -> None:
        """Make identities from these roots; say whenever there is another trouble with a Gateway, or none."""
        self._ways = ways
        self._environment = environment
        self._roots = roots
        self._tell = tell
        self._log = structlog.get_logger()
        self._wanted = _NOTHING
        self._gateways: dict[Name, Name] = {}  # by the name of what is made for them
        self._written: dict[Name, tuple[Wanted, tuple[Manifest, ...]]] = {}
        self._identities: dict[Name, Credential] = {}  # without their keys
        self._failures: dict[Name, int] = {}
        self._pace = Pace()
        self._ledger = Ledger()
        self._due: Due[Name] = Due()

    def take(self, wanted: Mapping[Name, Wanted | None]) -> None:
        """Take in what Gateways need."""
        before, self._wanted = self._wanted, wanted
        if before is wanted:
            return
        for gateway, each in wanted.items():
            if before.get(gateway) is not each and each is not None:
                self._gateways[each.name] = gateway
                self._due.mark(gateway)
        for gateway in before.keys() - wanted.keys():
            self._forget(gateway)

    def look(self) -> None:
        """Look at everything again, as when other roots are believed; first at what has no proxies yet."""
        for gateway in sorted(self._wanted, key=self._is_run):
            self._due.mark(gateway)

    def _is_run(self, gateway: Name) -> bool:
        """Say whether proxies of ours are there for a Gateway, or it wants nothing of us."""
        wanted = self._wanted[gateway]
        return wanted is None or self._ledger.found(Key("Deployment", wanted.name)) is not None

    async def run(self) -> None:
        """Make and keep everything, until cancelled; at first everything is looked at."""
        self._ledger, self._due = Ledger(), Due()
        self._identities.clear()
        try:
            await self._keep()
        finally:
            for gateway in self._failures:  # whoever leads now may mend it, and tells us nothing of it
                self._tell(gateway, "")
            self._failures.clear()

    async def _keep(self) -> None:
        unknown = set(SORTS)
        known = asyncio.Event()
        informers = {kind: self._informer(kind, unknown, known) for kind in SORTS}
        async with asyncio.TaskGroup() as tasks:
            for informer in informers.values():
                tasks.create_task(informer.run())
            while not await _within(known, COMPLAIN_AFTER):
                for kind in sorted(unknown):
                    self._log.warning(
                        "cannot be read", kind=kind, why=str(informers[kind].failure or "no answer yet")
                    )
            self.look()
            for _ in range(AT_ONCE):
                tasks.create_task(self._work())
            tasks.create_task(self._renew())

    def _informer(self, kind: str, unknown: set[str], known: asyncio.Event) -> Informer[Found]:
        async def learn(changes: Sequence[Change[Found]]) -> None:
            for name in self._ledger.learn(kind, changes):
                if name in self._gateways:
                    self._due.mark(self._gateways[name])
            if any(isinstance(change, Synced | Absent) for change in changes):
                unknown.discard(kind)
            if not unknown:
                known.set()

        return Informer(SORTS[kind].watched(), self._ways.reader, learn, self._ways.namespaces)

    async def _work(self) -> None:
        while True:
            async with self._due.next() as gateway:
                wanted = self._wanted.get(gateway)
                if wanted is not None:
                    await self._settle(gateway, wanted)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            self.look()

    async def _settle(self, gateway: Name, wanted: Wanted) -> None:
        try:
            await self._identify(wanted)
            await self._make(gateway, wanted)
        except TroubleError as trouble:
            self._failures[gateway] = failures = self._failures.get(gateway, 0) + 1
            self._log.warning("proxies are not as they should be", gateway=str(gateway), why=str(trouble))
            self._tell(gateway, str(trouble))
            self._due.mark(gateway, self._pace.after(failures))
        else:
            if self._failures.pop(gateway, 0):
                self._tell(gateway, "")

    async def _identify(self, wanted: Wanted) -> None:
        """Have a Secret with what proves the Gateway's Envoys, and with what they are to believe."""
        its, roots, now = wanted.gateway, self._roots(), datetime.now(UTC)
        key = Key("Secret", wanted.name)
        held = self._identities.get(name_of(its))
        subject = proxy_of(name_of(its), oldest_valid(its, now + SKEW))
        leaf = renewed_leaf(held, subject, roots, now)
        if leaf is held and self._ledger.is_applied(key, _shown(its, leaf, roots)):
            return
        found = await self._ways.read(key, Ref("Gateway", name_of(its)))
        secret = msgspec.json.decode(found.body, type=Secret) if found else None
        there = leaf_of(secret) if secret else None
        leaf = renewed_leaf(there, subject, roots, now)
        body = msgspec.json.encode(proxy_secret(its, leaf, roots))
        written = await self._ways.apply(key, body)
        self._ledger.note(key, _shown(its, leaf, roots), written.version)
        self._identities[name_of(its)] = structs.replace(leaf, key="")
        if there is None or there.certificate != leaf.certificate:
            until = leaf.lifetime.until.isoformat()
            self._log.info("an identity was issued", gateway=str(name_of(its)), until=until)

    async def _make(self, gateway: Name, wanted: Wanted) -> None:
        """Apply what is not as it should be, and delete what is too much."""
        made, owner = await self._manifests(gateway, wanted), Ref("Gateway", gateway)
        keys = {key_of(manifest): msgspec.json.encode(manifest) for manifest in made}
        for key, body in keys.items():
            if wanted.wishes.autoscaling is not None and key.kind == "Deployment":
                await self._let_go_of_number(key, body, owner)
            await self._ways.keep(self._ledger, key, body, owner)
        kept = {*keys, Key("Secret", wanted.name)}
        for key, uid in self._ledger.surplus(owner, wanted.name, kept).items():
            await self._ways.delete(key, uid)
            self._log.info("deleted what is no longer wanted", object=str(key))

    async def _manifests(self, gateway: Name, wanted: Wanted) -> tuple[Manifest, ...]:
        """Write what is wanted, a bootstrap included: beside the event loop, for the first one takes long."""
        known = self._written.get(gateway)
        if known is not None and known[0] is wanted:
            return known[1]
        made = await aside(partial(manifests, wanted, self._environment))
        if self._wanted.get(gateway) is wanted:
            self._written[gateway] = (wanted, made)
        return made

    async def _let_go_of_number(self, key: Key, body: bytes, owner: Ref) -> None:
        """Have somebody else own how many proxies there are, if we do: what is applied next leaves it out."""
        if self._ledger.is_applied(key, body):
            return
        found = await self._ways.read(key, owner)
        number = handover(found.body, self._ways.writer.manager) if found else None
        if number is not None:
            await self._ways.apply(key, number, HOLDER)

    def _forget(self, gateway: Name) -> None:
        """Let go of a Gateway; what was made for it goes with it, by its owner reference."""
        self._due.forget(gateway)
        self._identities.pop(gateway, None)
        self._failures.pop(gateway, None)
        self._written.pop(gateway, None)
        self._gateways.pop(proxy_name(gateway), None)


async def _within(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def _shown(its: Gateway, leaf: Credential, roots: tuple[Credential, ...]) -> bytes:
    """Write the Secret but for its key, which nobody keeps; labels are the Gateway's, and may change."""
    return msgspec.json.encode(proxy_secret(its, structs.replace(leaf, key=""), roots))
