"""`legation run` as a process: for how long an Envoy stays connected."""

from pathlib import Path

import grpc
from envoy.service.discovery.v3 import discovery_pb2

from tests.k8s_watch.faulty_api import write_kubeconfig
from tests.legation.running import free_port, run, serving
from xds_server.service import SERVICE
from xds_server.snapshot import CDS

FIRST = discovery_pb2.DeltaDiscoveryRequest(type_url=CDS, node={"id": "envoy-1", "cluster": "shop/edge"})


def nobody(folder: Path) -> str:
    """Name an API server that is away: Envoys are served in any case, or wait."""
    return str(write_kubeconfig(folder, f"http://127.0.0.1:{free_port()}", token="t0"))  # noqa: S106  # proves nothing


async def test_an_envoy_is_sent_on_by_the_age_that_is_asked_for(tmp_path: Path) -> None:
    target = f"127.0.0.1:{free_port()}"
    flags = ("--kubeconfig", nobody(tmp_path), "--xds", target, "--connection-age", "1s500ms")
    async with serving("run", *flags) as running:
        await running.logged("xDS port")
        async with grpc.aio.insecure_channel(target) as channel:
            stream = channel.stream_stream(f"/{SERVICE}/DeltaAggregatedResources")()
            await stream.write(FIRST.SerializeToString())
            assert await stream.code() == grpc.StatusCode.OK


async def test_an_age_that_is_no_duration_is_refused_with_an_example(tmp_path: Path) -> None:
    code, _, err = await run("run", "--kubeconfig", nobody(tmp_path), "--connection-age", "soon")
    assert code == 2
    assert "soon is no duration" in err
    assert "15m" in err
