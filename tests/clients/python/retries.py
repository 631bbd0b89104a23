"""Retries of the real Python library, run by ../python-retries.test.ts: its client reaches the cluster through
a proxy that loses some requests or answers. Arguments: the proxy's address, the cluster's own, the name of
the round trip. One `ok NAME` line when what the cluster holds is what one undisturbed run would have left."""

import sys
import uuid

import yt.wrapper as yt
from yt.wrapper.errors import YtHttpResponseError

from common import DOLLAR, ROWS, equal, rows

FOLDER = "//tmp/retries_" + uuid.uuid4().hex


def make_client(address):
    backoff = {"policy": "constant_time", "constant_time": 10}
    config = {"proxy": {"url": address, "enable_proxy_discovery": False}}
    client = yt.YtClient(config=config)
    # As configured by default, but without the long waits.
    client.config["proxy"]["retries"]["backoff"].update(backoff)
    for name in ("dynamic_table_retries", "read_retries", "write_retries"):
        client.config[name]["backoff"].update(backoff)
    return client


def create_queue(client, path):
    columns = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
    client.create("table", path, recursive=True, attributes={"dynamic": True, "schema": columns})
    client.mount_table(path, sync=True)


def create_mounted(client, type, path):
    client.create(type, path)
    client.mount_table(path, sync=True)


def queue_data(client, path):
    return [row["data"] for row in client.pull_queue(path, offset=0, partition_index=0, format=ROWS)]


def create(disturbed, client):
    """Run twice, the second would fail: the node is there."""
    path = FOLDER + "/node"
    id = disturbed.create("map_node", path)
    equal(id, client.get(path + "/@id"))


def nodes(disturbed, client):
    """Run twice, none of these would find what it is to change."""
    client.set(FOLDER + "/a", 1)
    disturbed.set(FOLDER + "/b", 2)
    disturbed.copy(FOLDER + "/a", FOLDER + "/c")
    disturbed.move(FOLDER + "/b", FOLDER + "/d")
    disturbed.remove(FOLDER + "/a")
    equal(sorted(client.list(FOLDER)), ["c", "d"])


def master_transaction(disturbed, client):
    before = len(client.list("//sys/transactions"))
    with disturbed.Transaction():
        disturbed.set(FOLDER + "/inside", 1)
        equal(len(client.list("//sys/transactions")), before + 1)
    equal(client.get(FOLDER + "/inside"), 1)
    equal(len(client.list("//sys/transactions")), before)


def batch(disturbed, client):
    requests = disturbed.create_batch_client()
    answers = [requests.create("map_node", "{}/{}".format(FOLDER, i)) for i in range(3)]
    requests.commit_batch()
    equal([answer.get_error() for answer in answers], [None] * 3)
    equal(len(client.list(FOLDER)), 3)


def registrations(disturbed, client):
    queue, consumer = FOLDER + "/queue", FOLDER + "/consumer"
    create_queue(client, queue)
    create_mounted(client, "queue_consumer", consumer)
    disturbed.register_queue_consumer(queue, consumer, vital=True)
    listed = [str(item["consumer_path"]) for item in client.list_queue_consumer_registrations(queue_path=queue)]
    equal(listed, [consumer])
    disturbed.unregister_queue_consumer(queue, consumer)
    equal(list(client.list_queue_consumer_registrations(queue_path=queue)), [])


def advance(disturbed, client):
    """Run twice, the second would fail: the old offset is no longer that."""
    queue, consumer = FOLDER + "/queue", FOLDER + "/consumer"
    create_queue(client, queue)
    create_mounted(client, "queue_consumer", consumer)
    client.register_queue_consumer(queue, consumer, vital=True)
    client.insert_rows(queue, [{"data": "a"}, {"data": "b"}], format=ROWS)
    disturbed.advance_queue_consumer(consumer, queue, partition_index=0, old_offset=0, new_offset=1)
    pulled = client.pull_queue_consumer(consumer, queue, offset=None, partition_index=0, format=ROWS)
    equal([row["data"] for row in pulled], ["b"])


def session(disturbed, client):
    """Run twice, the second would answer epoch 1, and a push with epoch 0 would be a zombie's."""
    queue, producer = FOLDER + "/queue", FOLDER + "/producer"
    create_queue(client, queue)
    create_mounted(client, "queue_producer", producer)
    opened = disturbed.create_queue_producer_session(producer, queue, "session", user_meta={"x": 1})
    equal((opened["epoch"], opened["sequence_number"]), (0, -1))
    equal(client.create_queue_producer_session(producer, queue, "session")["epoch"], 1)
    equal(disturbed.create_queue_producer_session(producer, queue, "session")["epoch"], 2)


def push(disturbed, client):
    queue, producer = FOLDER + "/queue", FOLDER + "/producer"
    create_queue(client, queue)
    create_mounted(client, "queue_producer", producer)
    epoch = client.create_queue_producer_session(producer, queue, "session")["epoch"]
    numbered = [{"data": data, DOLLAR + "sequence_number": i} for i, data in enumerate("abc")]
    pushed = disturbed.push_queue_producer(producer, queue, "session", epoch, numbered, input_format=ROWS)
    # The answer of the run that wrote, also where a later run was answered.
    equal((pushed["last_sequence_number"], pushed["skipped_row_count"]), (2, 0))
    equal(queue_data(client, queue), ["a", "b", "c"])
    # A program that starts anew sends the last rows once more, with no mutation id to know them by.
    epoch = client.create_queue_producer_session(producer, queue, "session")["epoch"]
    numbered.append({"data": "d", DOLLAR + "sequence_number": 3})
    pushed = client.push_queue_producer(producer, queue, "session", epoch, numbered, input_format=ROWS)
    equal((pushed["last_sequence_number"], pushed["skipped_row_count"]), (3, 3))
    equal(queue_data(client, queue), ["a", "b", "c", "d"])


def tablet_transaction(disturbed, client):
    """Start, push, advance and commit each lose something, and all of it takes place once."""
    queue, output = FOLDER + "/queue", FOLDER + "/output"
    producer, consumer = FOLDER + "/producer", FOLDER + "/consumer"
    create_queue(client, queue)
    create_queue(client, output)
    create_mounted(client, "queue_producer", producer)
    create_mounted(client, "queue_consumer", consumer)
    client.register_queue_consumer(queue, consumer, vital=True)
    client.insert_rows(queue, [{"data": "a"}, {"data": "b"}], format=ROWS)
    epoch = client.create_queue_producer_session(producer, output, "session")["epoch"]
    with disturbed.Transaction(type="tablet"):
        pulled = rows(disturbed.pull_queue_consumer(consumer, queue, offset=None, partition_index=0, format=ROWS))
        copied = [{"data": row["data"], DOLLAR + "sequence_number": i} for i, row in enumerate(pulled)]
        disturbed.push_queue_producer(producer, output, "session", epoch, copied, input_format=ROWS)
        disturbed.advance_queue_consumer(consumer, queue, partition_index=0, old_offset=0, new_offset=2)
        equal(queue_data(client, output), [])
    equal(queue_data(client, output), ["a", "b"])
    equal(rows(client.pull_queue_consumer(consumer, queue, offset=None, partition_index=0, format=ROWS)), [])


def insert_rows(disturbed, client):
    """Nothing tells a repeat of plain rows from new ones: they are written at least once."""
    queue = FOLDER + "/queue"
    create_queue(client, queue)
    disturbed.insert_rows(queue, [{"data": "a"}, {"data": "b"}], format=ROWS)
    equal(queue_data(client, queue), ["a", "b", "a", "b"])


def insert_rows_in_transaction(disturbed, client):
    """There the library does not repeat them: the transaction fails, and is to be run again as a whole."""
    queue = FOLDER + "/queue"
    create_queue(client, queue)
    try:
        with disturbed.Transaction(type="tablet"):
            disturbed.insert_rows(queue, [{"data": "a"}], format=ROWS)
        assert False, "the lost answer went unnoticed"
    except YtHttpResponseError:
        raise
    except Exception as error:
        assert "onnection" in repr(error), repr(error)
    equal(queue_data(client, queue), [])
    with disturbed.Transaction(type="tablet"):
        disturbed.insert_rows(queue, [{"data": "a"}], format=ROWS)
    equal(queue_data(client, queue), ["a"])


def reads(disturbed, client):
    queue, table = FOLDER + "/queue", FOLDER + "/table"
    create_queue(client, queue)
    client.insert_rows(queue, [{"data": str(i)} for i in range(100)], format=ROWS)
    equal(queue_data(disturbed, queue), [str(i) for i in range(100)])
    written = [{"a": i} for i in range(1000)]
    disturbed.write_table(table, written, format=ROWS)
    equal(rows(disturbed.read_table(table, format=ROWS)), written)


def main():
    disturbed, client = make_client(sys.argv[1]), make_client(sys.argv[2])
    name = sys.argv[3]
    client.create("map_node", FOLDER)
    round_trips = [
        create, nodes, master_transaction, batch, registrations, advance, session, push, tablet_transaction,
        insert_rows, insert_rows_in_transaction, reads,
    ]
    for round_trip in round_trips:
        if round_trip.__name__ == name:
            round_trip(disturbed, client)
            print("ok", name, flush=True)


main()
