"""Round trips through the real Python API, run by ../python-api.test.ts: one `ok NAME` line for each that
holds. Arguments: the address of a cluster, then the names of the round trips (all by default)."""

import logging
import sys
import time

import yt.wrapper as yt
from yt.wrapper.errors import YtHttpResponseError, YtResponseError

from common import DOLLAR, ROWS, equal, rows


class Warnings(logging.Handler):
    """Keeps what the library warns of: a retry is a warning there."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


warnings = Warnings()
logging.getLogger("Yt").addHandler(warnings)


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited for 20 s in vain"
        time.sleep(0.05)


def cypress(client):
    client.create("map_node", "//tmp/api/a/b", recursive=True)
    client.set("//tmp/api/a/b/value", {"x": 1, "list": [1, 2.5, "text", None, True]})
    equal(client.get("//tmp/api/a/b/value"), {"x": 1, "list": [1, 2.5, "text", None, True]})
    equal(client.get("//tmp/api/a/b/value/x"), 1)
    client.set("//tmp/api/a/@note", "kept")
    equal(client.get("//tmp/api/a/@note"), "kept")
    equal(client.get("//tmp/api/a/@type"), "map_node")
    equal(list(client.list("//tmp/api/a")), ["b"])
    equal(client.exists("//tmp/api/none"), False)
    client.copy("//tmp/api/a", "//tmp/api/copy")
    equal(client.get("//tmp/api/copy/b/value/x"), 1)
    equal(client.get("//tmp/api/copy/@note"), "kept")
    client.move("//tmp/api/copy", "//tmp/api/moved")
    equal(client.exists("//tmp/api/copy"), False)
    client.link("//tmp/api/moved", "//tmp/api/link")
    equal(client.get("//tmp/api/link/b/value/x"), 1)
    equal(client.get("//tmp/api/link&/@type"), "link")
    client.remove("//tmp/api/moved", recursive=True)
    equal(client.exists("//tmp/api/moved"), False)
    try:
        client.get("//tmp/api/moved")
        assert False, "no error for a node that is not there"
    except YtHttpResponseError as error:
        assert error.is_resolve_error(), error
    client.set("//tmp/api/ключ", "значение")
    equal(client.get("//tmp/api/ключ"), "значение")


def master_transaction(client):
    client.create("map_node", "//tmp/tx", recursive=True)
    with client.Transaction():
        client.set("//tmp/tx/inside", 1)
        other = yt.YtClient(config=client.config)
        equal(other.exists("//tmp/tx/inside"), False)
    equal(client.get("//tmp/tx/inside"), 1)
    try:
        with client.Transaction():
            client.set("//tmp/tx/aborted", 1)
            raise KeyError("leaves the transaction")
    except KeyError:
        pass
    equal(client.exists("//tmp/tx/aborted"), False)
    with client.Transaction():
        client.lock("//tmp/tx/inside", mode="exclusive")
        other = yt.YtClient(config=client.config)
        try:
            other.set("//tmp/tx/inside", 2)
            assert False, "a locked node was changed from outside"
        except YtResponseError as error:
            assert error.is_concurrent_transaction_lock_conflict(), error
    equal(client.get("//tmp/tx/inside"), 1)


def dynamic_table(client):
    table = "//tmp/dynamic"
    client.create(
        "table",
        table,
        attributes={
            "dynamic": True,
            "schema": [
                {"name": "key", "type": "int64", "sort_order": "ascending"},
                {"name": "value", "type": "string"},
                {"name": "number", "type": "double"},
            ],
        },
    )
    client.mount_table(table, sync=True)
    client.insert_rows(table, [{"key": 1, "value": "one", "number": 0.5}, {"key": 2, "value": "two"}], format=ROWS)
    equal(rows(client.lookup_rows(table, [{"key": 2}, {"key": 3}], format=ROWS)), [{"key": 2, "value": "two", "number": None}])
    equal(
        rows(client.select_rows("key, value from [{}] where key < 10 order by key limit 10".format(table), format=ROWS)),
        [{"key": 1, "value": "one"}, {"key": 2, "value": "two"}],
    )
    client.insert_rows(table, [{"key": 1, "value": "uno"}], update=True, format=ROWS)
    equal(rows(client.lookup_rows(table, [{"key": 1}], format=ROWS)), [{"key": 1, "value": "uno", "number": 0.5}])
    client.delete_rows(table, [{"key": 1}], format=ROWS)
    equal(rows(client.lookup_rows(table, [{"key": 1}], format=ROWS)), [])
    with client.Transaction(type="tablet"):
        client.insert_rows(table, [{"key": 7, "value": "seven"}], format=ROWS)
        other = yt.YtClient(config=client.config)
        equal(rows(other.lookup_rows(table, [{"key": 7}], format=ROWS)), [])
    equal(rows(client.lookup_rows(table, [{"key": 7}], column_names=["value"], format=ROWS)), [{"value": "seven"}])
    try:
        with client.Transaction(type="tablet"):
            client.insert_rows(table, [{"key": 8, "value": "eight"}], format=ROWS)
            raise KeyError("leaves the transaction")
    except KeyError:
        pass
    equal(rows(client.lookup_rows(table, [{"key": 8}], format=ROWS)), [])
    client.unmount_table(table, sync=True)
    client.mount_table(table, sync=True)
    equal(sorted(row["key"] for row in client.select_rows("* from [{}]".format(table), format=ROWS)), [2, 7])


def static_table(client):
    table = "//tmp/static"
    written = [{"a": i, "b": "text {}".format(i)} for i in range(1000)]
    client.write_table(table, written, format=ROWS)
    equal(client.get(table + "/@row_count"), 1000)
    equal(rows(client.read_table(table, format=ROWS)), written)
    equal(rows(client.read_table(table + "[#10:#13]", format=ROWS)), written[10:13])
    equal(rows(client.read_table(table + "{a}[#5:#6]", format=ROWS)), [{"a": 5}])
    client.write_table("<append=%true>" + table, [{"a": 1000, "b": "more"}], format=ROWS)
    equal(client.row_count(table), 1001)
    client.write_table(table, [{"a": -1}], format=ROWS)
    equal(rows(client.read_table(table, format=ROWS)), [{"a": -1}])
    wait_for(lambda: list(client.list("//sys/transactions")) == [])


def queue(client):
    path, consumer = "//tmp/queue", "//tmp/consumer"
    client.create(
        "table",
        path,
        attributes={
            "dynamic": True,
            "schema": [
                {"name": "data", "type": "string"},
                {"name": "$timestamp", "type": "uint64"},
                {"name": "$cumulative_data_weight", "type": "int64"},
            ],
        },
    )
    client.create("queue_consumer", consumer)
    client.mount_table(path, sync=True)
    client.mount_table(consumer, sync=True)
    client.register_queue_consumer(path, consumer, vital=True)
    client.insert_rows(path, [{"data": "a"}, {"data": "b"}, {"data": "c"}], format=ROWS)
    pulled = rows(client.pull_queue(path, offset=1, partition_index=0, format=ROWS))
    equal([(row[DOLLAR + "row_index"], row["data"]) for row in pulled], [(1, "b"), (2, "c")])
    with client.Transaction(type="tablet"):
        client.advance_queue_consumer(consumer, path, partition_index=0, old_offset=0, new_offset=2, client_side=False)
    pulled = rows(client.pull_queue_consumer(consumer, path, offset=None, partition_index=0, format=ROWS))
    equal([row["data"] for row in pulled], ["c"])
    registrations = client.list_queue_consumer_registrations(queue_path=path)
    equal([(str(item["consumer_path"]), item["vital"]) for item in registrations], [(consumer, True)])


ROUND_TRIPS = [cypress, master_transaction, dynamic_table, static_table, queue]


def main():
    proxy, names = sys.argv[1], sys.argv[2:]
    for round_trip in ROUND_TRIPS:
        if not names or round_trip.__name__ in names:
            # As the command line does: a bare client reads no variables, so no aliases either.
            config = yt.default_config.get_config_from_env()
            config["proxy"]["url"] = proxy
            client = yt.YtClient(config=config)
            del warnings.messages[:]
            round_trip(client)
            retries = [message for message in warnings.messages if "retry" in message.lower()]
            assert not retries, "the client retried: {}".format(retries)
            print("ok", round_trip.__name__, flush=True)


main()
