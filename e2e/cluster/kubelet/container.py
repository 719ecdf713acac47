"""The life of one container: started, probed, started again, ended with grace."""

import asyncio
import signal
from contextlib import suppress
from time import monotonic

import aiohttp

from e2e.cluster.kubelet import images, probes, states
from e2e.cluster.kubelet.containment import Contained, contain
from e2e.cluster.kubelet.events import now, tell
from e2e.cluster.kubelet.fields import MissingError
from e2e.cluster.kubelet.objects.containers import Container
from e2e.cluster.kubelet.objects.probes import PreStop, Probe
from e2e.cluster.kubelet.probes import Asked
from e2e.cluster.kubelet.specify import last_words, specify
from e2e.cluster.kubelet.states import Running, State, Terminated, Waiting
from e2e.cluster.kubelet.surroundings import Surroundings

FIRST_PAUSE, LONGEST_PAUSE = 10.0, 300.0  # seconds between two crashes
LOOK_AGAIN = 2.0  # for something that is missing
AFTER_PRE_STOP = 2.0  # left to a program whose preStop has used up the grace
KILLED = 128 + signal.SIGKILL


class ContainerLife:
    """One container, from the first start to the last end."""

    def __init__(self, around: Surroundings, container: Container, policy: str) -> None:
        """Know the container, and the restart policy that holds for it."""
        self.container = container
        self.state: State = Waiting("ContainerCreating")
        self.ready = False
        self.started = False
        self.passed = asyncio.Event()  # it is far enough for those that come after it, or has ended
        self.ended = asyncio.Event()
        self._around = around
        self._policy = policy
        self._home = around.home / container.name
        self.restarts = 0
        self._last: Terminated | None = None
        self._running: Contained | None = None
        self._living = False
        self._stopping = asyncio.Event()
        self._killed = False

    @property
    def sidecar(self) -> bool:
        """Whether it starts before the pod's containers and runs beside them."""
        return self.container.restart_policy == "Always"

    @property
    def succeeded(self) -> bool:
        """Whether it has ended well."""
        return isinstance(self.state, Terminated) and not self.state.exit_code

    async def live(self) -> None:
        """Run, and run again as the restart policy says, until that is enough."""
        self._living = True
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            try:
                outcome = await self._run()
            except MissingError as missing:
                self._become(Waiting("CreateContainerConfigError", str(missing)))
                await self._wait(LOOK_AGAIN)
                continue
            if self._is_enough(outcome):
                break
            self._last = outcome
            self.restarts += 1
            if self.restarts > 1:
                self._become(Waiting("CrashLoopBackOff", f"starts again after {pause:.0f} s"))
                await self._wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
        self.ended.set()
        self.passed.set()
        self._around.changed.set()

    async def stop(self, grace: float) -> None:
        """End it for good."""
        self._stopping.set()
        if self._running:
            await self._terminate(self._running, grace)
        if self._living:
            await self.ended.wait()

    def status(self) -> dict[str, object]:
        """Say how it is, as the pod's status has it."""
        return {
            "name": self.container.name,
            "image": self.container.image,
            "imageID": self.container.image,
            "containerID": self._id,
            "ready": self.ready,
            "started": self.started,
            "restartCount": self.restarts,
            "state": states.as_fields(self.state),
            "lastState": states.as_fields(self._last),
        }

    @property
    def _id(self) -> str:
        return f"process://{self._around.pod.metadata.uid}-{self.container.name}-{self.restarts}"

    def _is_enough(self, outcome: Terminated) -> bool:
        enough = {"Always": False, "OnFailure": not outcome.exit_code, "Never": True}
        return enough[self._policy] or self._stopping.is_set()

    async def _run(self) -> Terminated:
        """Run it once, from its start to its end."""
        around, settings = self._around, self._around.host.settings
        image = images.find(settings.images, self.container.image)
        if not image:
            message = f'no program stands for image "{self.container.image}"'
            raise MissingError(message)
        specification = await specify(around, self.container, image)
        log = around.log(self.container.name)
        self._running = running = await contain(specification, self._home, around.namespace, log)
        self._become(Running(now()))
        if self._stopping.is_set():  # while it was being started
            running.signal(signal.SIGKILL)
        async with asyncio.TaskGroup() as tasks:
            probing = tasks.create_task(self._probe(running))
            code = await running.outside.wait()
            probing.cancel()
        self._running = None
        return self._end(code)

    def _end(self, code: int) -> Terminated:
        assert isinstance(self.state, Running)
        if self._killed:  # which unshare(1) passes on as 1
            code = KILLED
        elif code < 0:  # by another signal
            code = 128 - code
        outcome = Terminated(code, self.state.started_at, now(), self._id, last_words(self._home))
        self.ready = self.started = self._killed = False
        self._become(outcome)
        return outcome

    def _become(self, state: State) -> None:
        self.state = state
        self._around.changed.set()

    async def _wait(self, seconds: float) -> None:
        """Wait so long, or until it is to stop."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _probe(self, running: Contained) -> None:
        """Find out when it has started, whether it is ready, and whether it lives."""
        around = self._around
        asked = Asked(self.container, running, around.address, around.host.session)
        if (startup := self.container.startup_probe) and not await probes.repeat(
            asked, startup, lambda _: True, self._period(startup)
        ):
            await self._fail(running, startup)
            return
        self.started = True
        self.passed.set()
        around.changed.set()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._ask_readiness(asked))
            tasks.create_task(self._ask_liveness(asked))

    async def _ask_readiness(self, asked: Asked) -> None:
        probe = self.container.readiness_probe
        if probe:
            await probes.repeat(asked, probe, self._ready_is, self._period(probe))
        else:
            self._ready_is(well=True)

    async def _ask_liveness(self, asked: Asked) -> None:
        probe = self.container.liveness_probe
        if probe:
            await probes.repeat(asked, probe, lambda well: not well, probe.period_seconds)
            await self._fail(asked.running, probe)

    def _ready_is(self, well: bool) -> bool:  # noqa: FBT001  an answer
        if self.ready != well:
            self.ready = well
            self._around.changed.set()
        return False  # readiness is never settled

    def _period(self, probe: Probe) -> float:
        return min(probe.period_seconds, self._around.host.settings.longest_probe_period)

    async def _fail(self, running: Contained, probe: Probe) -> None:
        """End it because of a probe, unless it is ending anyway: a probe must not cut a drain short."""
        if self._stopping.is_set():
            return
        pod = self._around.pod
        message = f"container {self.container.name} failed a probe and is started again"
        await tell(self._around.host.api, pod, "Unhealthy", message, warning=True)
        own = probe.termination_grace_period_seconds
        await self._terminate(running, pod.spec.termination_grace_period_seconds if own is None else own)

    async def _terminate(self, running: Contained, grace: float) -> None:
        """Do what comes before the end, ask for the end, and bring it about when the grace is over."""
        deadline = monotonic() + grace
        before = self.container.lifecycle.pre_stop
        if before and grace:
            with suppress(TimeoutError, OSError, aiohttp.ClientError):
                async with asyncio.timeout(grace):
                    await self._pre_stop(running, before)
        running.signal(signal.SIGTERM)
        try:
            left = max(deadline - monotonic(), AFTER_PRE_STOP) if grace else 0
            async with asyncio.timeout(left):
                await running.outside.wait()
        except TimeoutError:
            self._killed = True
            running.signal(signal.SIGKILL)
            await running.outside.wait()

    async def _pre_stop(self, running: Contained, before: PreStop) -> None:
        if before.exec:
            await running.exec(before.exec.command)
        if before.http_get:
            asked = Asked(self.container, running, self._around.address, self._around.host.session)
            await probes.get(asked, before.http_get)
        if before.sleep:
            await asyncio.sleep(before.sleep.seconds)
