"""Several tables share a broker and an engine, which are both killed: part of the hundred-table benchmark."""

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
