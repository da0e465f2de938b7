"""The hub sends each watcher its topics, and drops a slow watcher without delaying the others."""

from controller.app.hub import Hub


def test_a_watcher_receives_its_topics_only() -> None:
    hub = Hub()
    watcher = hub.watch(frozenset({"lamps"}))
    hub.publish("lamps", b"lamp")
    hub.publish("outcomes", b"outcome")
    assert watcher.take(0) == [b"lamp"]
    assert hub.wants("lamps")
    hub.leave(watcher)
    assert not hub.wants("lamps")


def test_a_slow_watcher_is_dropped_and_the_others_miss_nothing() -> None:
    hub = Hub(backlog=3)
    slow, quick = hub.watch(frozenset({"outcomes"})), hub.watch(frozenset({"outcomes"}))
    heard: list[bytes] = []
    for number in range(5):
        hub.publish("outcomes", b"%d" % number)
        heard += quick.take(0)
    assert heard == [b"0", b"1", b"2", b"3", b"4"]
    assert not quick.dropped
    assert slow.dropped
    assert slow.take(0) == []
