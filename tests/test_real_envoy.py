"""The harness that other tests trust: it starts, answers, and stops."""

import pytest

from tests.real_envoy import running_envoy


async def test_an_envoy_lives_exactly_as_long_as_its_block() -> None:
    async with running_envoy({"node": {"id": "n", "cluster": "c"}}) as envoy:
        assert await envoy.ready()
        assert (await envoy.stats("server."))["server.live"] == 1
        assert "configs" in await envoy.config_dump()
    assert envoy.process.returncode == 0


async def test_a_bootstrap_that_envoy_refuses_is_told_with_its_reason() -> None:
    with pytest.raises(ChildProcessError, match="no_such_field"):
        async with running_envoy({"no_such_field": 1}):
            pass


async def test_of_an_envoy_in_whose_block_something_fails_it_is_told_how_it_stands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(LookupError):
        async with running_envoy({"node": {"id": "n", "cluster": "c"}}) as envoy:
            await envoy.listener_port("none")
    assert "/listeners: " in capsys.readouterr().out
