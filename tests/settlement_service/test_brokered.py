"""Several tables with one broker and one engine, both killed: part of the benchmark of a hundred tables."""

from pathlib import Path

import pytest

from tests.benchmarks.brokered import settle
from tests.publish.broker import MOSQUITTO

pytestmark = pytest.mark.skipif(MOSQUITTO is None, reason="mosquitto is not installed: see .ci/services")


def test_tables_that_share_a_broker_and_an_engine_are_settled_once_and_in_order_whatever_is_killed(
    tmp_path: Path,
) -> None:
    came = settle(tmp_path, f"sqlite:///{tmp_path}/engine.db", tables=4, throws=6, kills=4)
    assert came.faults == []
    assert (came.engines, came.brokers) == (3, 3)
