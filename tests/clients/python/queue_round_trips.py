"""All queue functions of the real Python library, run by ../python-queues.test.ts. Arguments: the address of
a cluster and the name of a round trip; one `ok NAME` line if it holds."""

import sys

import yt.wrapper as yt
from yt.wrapper.errors import YtResponseError

from common import DOLLAR, ROWS, equal, rows

JSON = yt.JsonFormat()


def fails_with(code, work):
    try:
        work()
    except YtResponseError as error:
        assert error.contains_code(code), "not code {}: {!r}".format(code, error)
    else:
        assert False, "no error, where code {} was expected".format(code)


def create_queue(client, path, tablet_count=1):
    columns = [
        {"name": "data", "type": "string"},
        {"name": "$timestamp", "type": "uint64"},
        {"name": "$cumulative_data_weight", "type": "int64"},
    ]
    attributes = {"dynamic": True, "schema": columns, "tablet_count": tablet_count}
    client.create("table", path, recursive=True, attributes=attributes)
    client.mount_table(path, sync=True)


def create_mounted(client, type, path):
    client.create(type, path, recursive=True)
    client.mount_table(path, sync=True)


def message(data, partition=0):
    return {"data": data, DOLLAR + "tablet_index": partition}


def numbered(number, data, partition=0):
    return dict(message(data, partition), **{DOLLAR + "sequence_number": number})


def data_of(iterator):
    return [row["data"] for row in iterator]


def registrations(client):
    queue, other = "//tmp/registrations/q1", "//tmp/registrations/q2"
    consumer, second = "//tmp/registrations/c1", "//tmp/registrations/c2"
    create_queue(client, queue, tablet_count=3)
    create_queue(client, other)
    create_mounted(client, "queue_consumer", consumer)
    create_mounted(client, "queue_consumer", second)

    def listed(**filters):
        found = client.list_queue_consumer_registrations(**filters)
        return sorted(
            (str(item["queue_path"]), str(item["consumer_path"]), item["vital"], item["partitions"])
            for item in found
        )

    client.register_queue_consumer(queue, consumer, vital=True)
    client.register_queue_consumer(queue, second, vital=False, partitions=[0, 2])
    client.register_queue_consumer(other, consumer, vital=False)
    first_of_queue = (queue, consumer, True, None)
    second_of_queue = (queue, second, False, [0, 2])
    equal(listed(queue_path=queue), [first_of_queue, second_of_queue])
    equal(listed(consumer_path=consumer), [first_of_queue, (other, consumer, False, None)])
    equal(listed(queue_path=queue, consumer_path=second), [second_of_queue])
    assert len(listed()) >= 3
    raw = client.list_queue_consumer_registrations(queue_path=other, format="json")
    assert b'"consumer_path"' in raw if isinstance(raw, bytes) else '"consumer_path"' in raw, raw
    client.register_queue_consumer(queue, consumer, vital=False)
    equal(listed(queue_path=queue, consumer_path=consumer), [(queue, consumer, False, None)])
    client.unregister_queue_consumer(queue, consumer)
    equal(listed(queue_path=queue), [second_of_queue])
    fails_with(
        1,
        lambda: rows(client.pull_queue_consumer(consumer, queue, offset=0, partition_index=0, format=ROWS)),
    )


def pulls(client):
    queue, consumer = "//tmp/pulls/q", "//tmp/pulls/c"
    create_queue(client, queue, tablet_count=2)
    create_mounted(client, "queue_consumer", consumer)
    client.register_queue_consumer(queue, consumer, vital=True)
    client.insert_rows(queue, [message(str(i)) for i in range(10)] + [message("x", 1)], format=ROWS)

    equal(data_of(client.pull_queue(queue, offset=8, partition_index=0, format=ROWS)), ["8", "9"])
    equal(data_of(client.pull_queue(queue, offset=2, partition_index=0, max_row_count=3, format=ROWS)), ["2", "3", "4"])
    equal(data_of(client.pull_queue(queue, offset=0, partition_index=0, max_data_weight=1, format=ROWS)), ["0"])
    equal(data_of(client.pull_queue(queue, offset=0, partition_index=1, format=ROWS)), ["x"])
    equal(data_of(client.pull_queue(queue, offset=100, partition_index=0, format=ROWS)), [])
    row = rows(client.pull_queue(queue, offset=3, partition_index=0, max_row_count=1, format=ROWS))[0]
    equal(row[DOLLAR + "row_index"], 3)
    equal(row[DOLLAR + "tablet_index"], 0)
    assert row[DOLLAR + "timestamp"] > 0
    raw = client.pull_queue(queue, offset=9, partition_index=0, format=JSON, raw=True).read()
    assert b'"data":"9"' in raw, raw

    for pull in (client.pull_queue_consumer, client.pull_consumer):
        equal(data_of(pull(consumer, queue, offset=8, partition_index=0, format=ROWS)), ["8", "9"])
        equal(data_of(pull(consumer, queue, offset=None, partition_index=0, max_row_count=2, format=ROWS)), ["0", "1"])
    client.trim_rows(queue, 0, 5)
    equal(data_of(client.pull_queue(queue, offset=0, partition_index=0, max_row_count=1, format=ROWS)), ["5"])
    fails_with(500, lambda: rows(client.pull_queue("//tmp/pulls/none", offset=0, partition_index=0, format=ROWS)))


def advances(client):
    queue, consumer = "//tmp/advances/q", "//tmp/advances/c"
    create_queue(client, queue)
    create_mounted(client, "queue_consumer", consumer)
    client.register_queue_consumer(queue, consumer, vital=True)
    client.insert_rows(queue, [message(str(i)) for i in range(10)], format=ROWS)

    def next_row():
        return data_of(client.pull_queue_consumer(consumer, queue, offset=None, partition_index=0, max_row_count=1, format=ROWS))

    offset = 0
    for advance in (client.advance_queue_consumer, client.advance_consumer):
        for client_side in (True, False):
            advance(consumer, queue, partition_index=0, old_offset=offset, new_offset=offset + 1, client_side=client_side)
            offset += 1
            equal(next_row(), [str(offset)])
            wrong = {"old_offset": offset + 5, "new_offset": offset + 6, "client_side": client_side}
            fails_with(3100, lambda: advance(consumer, queue, partition_index=0, **wrong))
    client.advance_queue_consumer(consumer, queue, partition_index=0, old_offset=None, new_offset=7)
    equal(next_row(), ["7"])

    with client.Transaction(type="tablet"):
        client.advance_queue_consumer(consumer, queue, partition_index=0, old_offset=7, new_offset=8)
        other = yt.YtClient(config=client.config)
        pulled = other.pull_queue_consumer(consumer, queue, offset=None, partition_index=0, max_row_count=1, format=ROWS)
        equal(data_of(pulled), ["7"])
    equal(next_row(), ["8"])
    try:
        with client.Transaction():
            client.advance_queue_consumer(consumer, queue, partition_index=0, old_offset=8, new_offset=9)
        assert False, "the library let a master transaction pass"
    except yt.YtError:
        pass
    equal(next_row(), ["8"])


def producers(client):
    queue, producer = "//tmp/producers/q", "//tmp/producers/p"
    create_queue(client, queue, tablet_count=2)
    create_mounted(client, "queue_producer", producer)

    created = client.create_queue_producer_session(producer, queue, "s", user_meta={"place": 1})
    equal((created["epoch"], created["sequence_number"], created["user_meta"]), (0, -1, {"place": 1}))

    def push(batch, epoch=0, **options):
        pushed = client.push_queue_producer(producer, queue, "s", epoch, batch, input_format=ROWS, **options)
        return pushed["last_sequence_number"], pushed["skipped_row_count"]

    equal(push([numbered(1, "a"), numbered(2, "b", 1), numbered(5, "c")]), (5, 0))
    equal(push([numbered(2, "b", 1), numbered(5, "c"), numbered(6, "d")], user_meta={"place": 6}), (6, 2))
    equal(data_of(client.pull_queue(queue, offset=0, partition_index=0, format=ROWS)), ["a", "c", "d"])
    equal(data_of(client.pull_queue(queue, offset=0, partition_index=1, format=ROWS)), ["b"])
    equal(push([], user_meta={"place": 7}), (6, 0))

    raw = client.push_queue_producer(
        producer, queue, "s", 0, b'{"data":"e","$$sequence_number":7}\n', input_format=JSON, raw=True, output_format="json")
    assert b'"last_sequence_number":7' in (raw if isinstance(raw, bytes) else raw.encode()).replace(b" ", b""), raw

    created = client.create_queue_producer_session(producer, queue, "s")
    equal((created["epoch"], created["sequence_number"], created["user_meta"]), (1, 7, {"place": 7}))
    fails_with(3102, lambda: push([numbered(8, "zombie")], epoch=0))
    fails_with(3101, lambda: push([numbered(8, "future")], epoch=2))
    fails_with(3103, lambda: push([{"data": "no number"}], epoch=1))
    client.remove_queue_producer_session(producer, queue, "s")
    fails_with(1, lambda: push([numbered(8, "removed")], epoch=1))
    equal(client.create_queue_producer_session(producer, queue, "s")["sequence_number"], -1)


def transaction(client):
    """Reads, writes and advances in one tablet transaction: all of it, or nothing."""
    source, target = "//tmp/transaction/source", "//tmp/transaction/target"
    consumer, producer = "//tmp/transaction/c", "//tmp/transaction/p"
    create_queue(client, source)
    create_queue(client, target)
    create_mounted(client, "queue_consumer", consumer)
    create_mounted(client, "queue_producer", producer)
    client.register_queue_consumer(source, consumer, vital=True)
    client.insert_rows(source, [message(str(i)) for i in range(6)], format=ROWS)
    epoch = client.create_queue_producer_session(producer, target, "s")["epoch"]
    outside = yt.YtClient(config=client.config)

    def copy(from_offset, fail):
        with client.Transaction(type="tablet"):
            pulled = rows(client.pull_queue_consumer(consumer, source, offset=from_offset, partition_index=0, max_row_count=3, format=ROWS))
            batch = [numbered(row[DOLLAR + "row_index"], row["data"]) for row in pulled]
            client.push_queue_producer(producer, target, "s", epoch, batch, input_format=ROWS)
            client.insert_rows(target, [message("plain {}".format(from_offset))], format=ROWS)
            client.advance_queue_consumer(consumer, source, 0, old_offset=from_offset, new_offset=from_offset + len(pulled))
            before = data_of(outside.pull_queue(target, offset=0, partition_index=0, format=ROWS))
            if fail:
                raise KeyError("leaves the transaction")
            return before

    equal(copy(0, fail=False), [])
    copied = ["0", "1", "2", "plain 0"]
    equal(sorted(data_of(client.pull_queue(target, offset=0, partition_index=0, format=ROWS))), copied)
    try:
        copy(3, fail=True)
    except KeyError:
        pass
    equal(sorted(data_of(client.pull_queue(target, offset=0, partition_index=0, format=ROWS))), copied)
    equal(data_of(client.pull_queue_consumer(consumer, source, offset=None, partition_index=0, max_row_count=1, format=ROWS)), ["3"])
    copy(3, fail=False)
    equal(len(data_of(client.pull_queue(target, offset=0, partition_index=0, format=ROWS))), 8)
    # A transaction from before the offset that is stored now fails, and leaves nothing.
    fails_with(3100, lambda: copy(3, fail=False))
    equal(len(data_of(client.pull_queue(target, offset=0, partition_index=0, format=ROWS))), 8)


ROUND_TRIPS = [registrations, pulls, advances, producers, transaction]


def main():
    client = yt.YtClient(config={"proxy": {"url": sys.argv[1]}})
    for round_trip in ROUND_TRIPS:
        if round_trip.__name__ == sys.argv[2]:
            round_trip(client)
            print("ok", round_trip.__name__, flush=True)


main()
