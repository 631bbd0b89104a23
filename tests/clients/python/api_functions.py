"""The Python library's functions one by one, run by ../python-api.test.ts: one `ok NAME` line for each
family that holds. Arguments: the address of a cluster, then the names of the families (all by default)."""

import hashlib
import io
import os
import sys
import tempfile

import yt.wrapper as yt
from yt.wrapper.errors import YtResponseError

from common import DOLLAR, HAS_BINDINGS, ROWS, equal, rows

ORDERED = [{"name": "data", "type": "string"}, {"name": "$timestamp", "type": "uint64"}]
SORTED = [
    {"name": "key", "type": "int64", "sort_order": "ascending"},
    {"name": "value", "type": "string"},
    {"name": "sum", "type": "int64", "aggregate": "sum"},
]


def refused(action, code):
    """What the error is called that the action is refused with: texts of it and of those inside."""
    try:
        action()
    except YtResponseError as error:
        assert error.contains_code(code), error
        return str(error)
    raise AssertionError("no error")


def another(client, **config):
    result = yt.YtClient(config=client.config)
    for name, value in config.items():
        result.config[name].update(value)
    return result


def cypress(client):
    root = "//tmp/functions"
    client.mkdir(root + "/a/b", recursive=True)
    client.create("document", root + "/doc", attributes={"value": {"x": [1, 2]}})
    client.set_attribute(root + "/a", "mark", "first")
    equal(client.get_attribute(root + "/a", "mark"), "first")
    equal(client.get_attribute(root + "/a", "none", default=5), 5)
    equal(client.has_attribute(root + "/a", "mark"), True)
    client.remove_attribute(root + "/a", "mark")
    equal(client.has_attribute(root + "/a", "mark"), False)
    equal(client.get_type(root + "/doc"), "document")
    equal(client.get(root + "/doc/x/1"), 2)
    equal(client.exists(root + "/doc/y"), False)
    listed = client.list(root, attributes=["type"], sort=True)
    equal([(str(name), name.attributes["type"]) for name in listed], [("a", "map_node"), ("doc", "document")])
    equal(client.list(root, absolute=True, sort=True), [root + "/a", root + "/doc"])
    equal(len(client.list(root, max_size=1)), 1)
    equal(client.get(root, max_size=1).attributes, {"incomplete": True})
    equal(client.get(root + "/a", attributes=["type", "none"]).attributes, {"type": "map_node"})
    client.link(root + "/doc", root + "/link", attributes={"note": 1})
    equal(client.get(root + "/link&/@note"), 1)
    client.copy(root + "/doc", root + "/deep/er/doc", recursive=True)
    refused(lambda: client.copy(root + "/doc", root + "/deep/er/doc"), 501)
    client.copy(root + "/doc", root + "/deep/er/doc", ignore_existing=True)
    client.move(root + "/deep/er/doc", root + "/doc", force=True)
    equal(client.exists(root + "/deep/er/doc"), False)
    found = client.search(root, node_type=["document", "link"], attributes=["type"])
    equal(sorted(str(path) for path in found), [root + "/doc", root + "/link"])
    found = client.search(root, path_filter=lambda path: path.endswith("/b"), enable_batch_mode=True)
    equal([str(path) for path in found], [root + "/a/b"])
    assert client.find_free_subpath(root + "/free").startswith(root + "/free")
    equal(client.check_permission("root", "write", root)["action"], "allow")
    equal(client.get_current_user()["user"], "root")
    assert client.generate_timestamp() > 1 << 60
    refused(lambda: client.remove(root + "/a", recursive=False), 506)
    client.remove(root + "/none", force=True)
    refused(lambda: client.remove(root + "/none"), 500)
    client.remove(root, recursive=True)


def transactions(client):
    client.mkdir("//tmp/nested")
    other = another(client)
    with client.Transaction(attributes={"title": "outer"}) as outer:
        client.set("//tmp/nested/outer", 1)
        equal(client.get("#{}/@title".format(outer.transaction_id)), "outer")
        with client.Transaction() as inner:
            client.set("//tmp/nested/inner", 2)
            equal(client.get("#{}/@parent_id".format(inner.transaction_id)), outer.transaction_id)
        equal(client.get("//tmp/nested/inner"), 2)
        equal(other.exists("//tmp/nested/inner"), False)
        try:
            with client.Transaction():
                client.remove("//tmp/nested/outer")
                raise KeyError("leaves the inner transaction")
        except KeyError:
            pass
        equal(client.get("//tmp/nested/outer"), 1)
    equal(other.get("//tmp/nested"), {"outer": 1, "inner": 2})

    first, second = (client.start_transaction(timeout=60000) for _ in range(2))
    with client.Transaction(transaction_id=first):
        lock = client.lock("//tmp/nested/outer", mode="exclusive")
        equal(client.get("#{}/@state".format(lock["lock_id"])), "acquired")
    with client.Transaction(transaction_id=second):
        refused(lambda: client.lock("//tmp/nested/outer"), 402)
        waiting = client.lock("//tmp/nested/outer", waitable=True)
        equal(client.get("#{}/@state".format(waiting["lock_id"])), "pending")
    client.ping_transaction(first)
    client.commit_transaction(first)
    equal(client.get("#{}/@state".format(waiting["lock_id"])), "acquired")
    with client.Transaction(transaction_id=second):
        client.unlock("//tmp/nested/outer")
        client.lock("//tmp/nested", mode="shared", child_key="new")
        client.lock("//tmp/nested", mode="shared", attribute_key="new")
        client.lock("//tmp/nested/inner", mode="snapshot")
    refused(lambda: other.set("//tmp/nested/new", 1), 402)
    other.set("//tmp/nested/inner", 3)
    with client.Transaction(transaction_id=second):
        equal(client.get("//tmp/nested/inner"), 2)
    client.abort_transaction(second)
    refused(lambda: client.ping_transaction(second), 11000)

    revision = client.get("//tmp/nested/inner/@revision")
    parameter = client.create_revision_parameter("//tmp/nested/inner", revision=revision)
    client.COMMAND_PARAMS["prerequisite_revisions"] = [parameter]
    client.set("//tmp/nested/inner", 4)
    refused(lambda: client.set("//tmp/nested/inner", 5), 1000)
    del client.COMMAND_PARAMS["prerequisite_revisions"]
    equal(client.get("//tmp/nested/inner"), 4)
    client.remove("//tmp/nested", recursive=True)


def batches(client):
    batch = client.create_batch_client(raise_errors=False)
    batch.mkdir("//tmp/batch")
    batch.commit_batch()
    answers = [batch.set("//tmp/batch/{}".format(i), i) for i in range(250)]
    missing = batch.get("//tmp/batch/none")
    batch.commit_batch()
    assert all(answer.is_ok() for answer in answers)
    assert missing.get_error()["code"] == 500 or missing.get_error()["inner_errors"], missing.get_error()
    listed, there, value = batch.list("//tmp/batch"), batch.exists("//tmp/batch/7"), batch.get("//tmp/batch/7")
    batch.commit_batch()
    equal(len(listed.get_result()), 250)
    equal((there.get_result(), value.get_result()), (True, 7))
    with client.Transaction():
        inside = client.create_batch_client(raise_errors=True)
        inside.remove("//tmp/batch/7")
        inside.commit_batch()
        equal(another(client).exists("//tmp/batch/7"), True)
    equal(client.exists("//tmp/batch/7"), False)
    doubled = client.batch_apply(lambda path, client: client.get(path), ["//tmp/batch/1", "//tmp/batch/2"])
    equal(list(doubled), [1, 2])
    plain = client.execute_batch([{"command": "get", "parameters": {"path": "//tmp/batch/3"}}])
    equal(len(plain), 1)
    client.remove("//tmp/batch", recursive=True)


def static_tables(client):
    root = "//tmp/static_functions"
    client.mkdir(root)
    client.create_table(root + "/a", attributes={"schema": [{"name": "n", "type": "int64"}]})
    equal(client.is_empty(root + "/a"), True)
    client.write_table(root + "/a", [{"n": 1}, {"n": 2}], format=ROWS)
    refused(lambda: client.write_table(root + "/a", [{"n": "text"}], format=ROWS), 307)
    equal(client.row_count(root + "/a"), 2)
    equal([column.name for column in client.get_table_schema(root + "/a").columns], ["n"])
    client.write_table("<sorted_by=[n]>" + root + "/sorted", [{"n": 3}, {"n": 5}], format=ROWS)
    equal((client.is_sorted(root + "/sorted"), client.is_sorted(root + "/a")), (True, False))
    refused(lambda: client.write_table("<sorted_by=[n]>" + root + "/other", [{"n": 5}, {"n": 3}], format=ROWS), 301)
    equal(rows(client.read_table(yt.TablePath(root + "/sorted", lower_key=[4], client=client), format=ROWS)), [{"n": 5}])
    path = yt.TablePath(root + "/a", columns=["n"], start_index=1, end_index=2, client=client)
    equal(rows(client.read_table(path, format=ROWS)), [{"n": 2}])
    client.write_table(yt.TablePath(root + "/a", append=True, client=client), [{"n": 3}], format=ROWS)
    client.create("table", root + "/joined")
    client.concatenate([root + "/a", root + "/sorted"], root + "/joined")
    equal([row["n"] for row in client.read_table(root + "/joined", format=ROWS)], [1, 2, 3, 3, 5])
    statistics = client.get_table_columnar_statistics([root + "/a{n}"])
    equal(len(statistics), 1)
    client.alter_table(root + "/a", schema=[{"name": "n", "type": "int64"}, {"name": "more", "type": "string"}])
    client.write_table(root + "/a", [{"n": 1, "more": "x"}], format=ROWS)
    temporary = client.create_temp_table(expiration_timeout=60000)
    client.write_table(temporary, [{"n": i} for i in range(10)], format=ROWS)
    equal(client.row_count(temporary), 10)
    with client.TempTable() as name:
        equal(client.exists(name), True)
    equal(client.exists(name), False)
    with client.Transaction():
        client.write_table(root + "/a", [{"n": 7, "more": "y"}], format=ROWS)
        equal(rows(another(client).read_table(root + "/a", format=ROWS)), [{"n": 1, "more": "x"}])
    equal(rows(client.read_table(root + "/a", format=ROWS)), [{"n": 7, "more": "y"}])
    parallel = another(
        client,
        read_parallel={"enable": True, "data_size_per_thread": 10000},
        write_parallel={"enable": True},
        write_retries={"chunk_size": 10000},
    )
    written = [{"n": i, "text": "x" * 50} for i in range(2000)]
    parallel.write_table(root + "/parallel", written, format=ROWS)
    equal(sorted(row["n"] for row in client.read_table(root + "/parallel", format=ROWS)), list(range(2000)))
    equal([row["n"] for row in parallel.read_table(root + "/parallel{n}", format=ROWS)][:3], [0, 1, 2])
    client.remove(root, recursive=True)


def sorted_tables(client):
    table = "//tmp/sorted_functions"
    client.create("table", table, attributes={"dynamic": True, "schema": SORTED})
    client.mount_table(table, sync=True)
    client.insert_rows(table, [{"key": i, "value": "v{}".format(i), "sum": 1} for i in range(10)], format=ROWS)
    client.insert_rows(table, [{"key": 3, "sum": 4}], update=True, aggregate=True, format=ROWS)
    equal(rows(client.lookup_rows(table, [{"key": 3}], format=ROWS)), [{"key": 3, "value": "v3", "sum": 5}])
    if HAS_BINDINGS:
        # In JSON the library cannot read a row that is an entity.
        equal(len(list(client.lookup_rows(table, [{"key": 3}, {"key": 99}], keep_missing_rows=True))), 2)
    query = "sum(sum) as s from [{}] where key > {{low}} group by 1".format(table)
    equal(rows(client.select_rows(query, placeholder_values={"low": 7}, format=ROWS)), [{"s": 2}])
    if HAS_BINDINGS:
        assert client.explain_query("key from [{}]".format(table))
    before = client.generate_timestamp()
    client.delete_rows(table, [{"key": 0}], format=ROWS)
    equal(rows(client.lookup_rows(table, [{"key": 0}], format=ROWS)), [])
    then = client.lookup_rows(table, [{"key": 0}], column_names=["value"], timestamp=before, format=ROWS)
    equal(rows(then), [{"value": "v0"}])
    other = another(client)
    with client.Transaction(type="tablet"):
        client.lock_rows(table, [{"key": 1}], lock_type="shared_strong", format=ROWS)
        other.insert_rows(table, [{"key": 2, "value": "free"}], format=ROWS)
    try:
        with client.Transaction(type="tablet"):
            equal(len(list(client.lookup_rows(table, [{"key": 5}], format=ROWS))), 1)
            other.insert_rows(table, [{"key": 5, "value": "sooner"}], format=ROWS)
            client.insert_rows(table, [{"key": 5, "value": "later"}], format=ROWS)
        raise AssertionError("a conflict was committed")
    except YtResponseError as error:
        assert error.contains_code(1700), error
    client.freeze_table(table, sync=True)
    refused(lambda: client.insert_rows(table, [{"key": 5, "value": "frozen"}], format=ROWS), 1702)
    client.unfreeze_table(table, sync=True)
    client.remount_table(table)
    refused(lambda: client.reshard_table(table, [[], [5]]), 1)
    client.unmount_table(table, sync=True)
    client.reshard_table(table, [[], [5]], sync=True)
    equal(client.get(table + "/@pivot_keys"), [[], [5]])
    client.alter_table(table, schema=SORTED + [{"name": "added", "type": "boolean"}])
    client.mount_table(table, sync=True)
    infos = client.get_tablet_infos(table, [0, 1])
    equal(len(infos["tablets"]), 2)
    equal(len(client.get_tablet_errors(table)["tablet_errors"]), 0)
    equal(len(list(client.select_rows("added from [{}]".format(table), format=ROWS))), 9)
    client.unmount_table(table, sync=True)
    client.alter_table(table, dynamic=False)
    equal(client.row_count(table), 9)
    client.remove(table)


def ordered_tables(client):
    table = "//tmp/ordered_functions"
    client.create("table", table, attributes={"dynamic": True, "schema": ORDERED, "tablet_count": 2})
    client.mount_table(table, sync=True)
    written = [{"data": str(i), DOLLAR + "tablet_index": i % 2} for i in range(10)]
    client.insert_rows(table, written, format=ROWS)
    infos = client.get_tablet_infos(table, [0, 1])["tablets"]
    equal([info["total_row_count"] for info in infos], [5, 5])
    client.trim_rows(table, 0, 2)
    left = rows(client.select_rows("data from [{}] where [$tablet_index] = 0".format(table), format=ROWS))
    equal([row["data"] for row in left], ["4", "6", "8"])
    client.freeze_table(table, sync=True)
    equal(client.get(table + "/@tablets/0/flushed_row_count"), 5)
    equal(rows(client.read_table(table + "{data}", format=ROWS))[0], {"data": "4"})
    client.unmount_table(table, sync=True)
    client.reshard_table(table, tablet_count=3, sync=True)
    equal(client.get(table + "/@tablet_count"), 3)
    client.mount_table(table, sync=True)
    client.remove(table)


def files(client):
    root = "//tmp/file_functions"
    client.mkdir(root)
    content = os.urandom(200000)

    def read(path, **options):
        return client.read_file(path, **options).read()

    client.write_file(root + "/bytes", content, compute_md5=True)
    equal(client.get(root + "/bytes/@md5"), hashlib.md5(content).hexdigest())
    equal(client.get(root + "/bytes/@uncompressed_data_size"), len(content))
    equal(read(root + "/bytes") == content, True)
    equal(read(root + "/bytes", offset=10, length=100), content[10:110])
    client.write_file(root + "/stream", io.BytesIO(content))
    equal(read(root + "/stream") == content, True)
    client.write_file(root + "/parts", (part for part in [b"one ", b"two ", b""]))
    client.write_file("<append=%true>" + root + "/parts", b"three")
    equal(read(root + "/parts"), b"one two three")
    client.write_file(root + "/empty", b"")
    equal(read(root + "/empty"), b"")
    refused(lambda: client.write_file(root + "/none", b"x", force_create=False), 500)
    with client.Transaction():
        client.write_file(root + "/parts", b"inside")
        equal(another(client).read_file(root + "/parts").read(), b"one two three")
    equal(read(root + "/parts"), b"inside")
    for encoding in ["gzip", "identity"]:
        coded = another(client, proxy={"content_encoding": encoding, "accept_encoding": encoding})
        coded.write_file(root + "/coded", content)
        equal(coded.read_file(root + "/coded").read() == content, True)
    parallel = another(
        client,
        read_parallel={"enable": True, "data_size_per_thread": 50000},
        write_parallel={"enable": True},
        write_retries={"chunk_size": 50000},
    )
    parallel.write_file(root + "/parallel", io.BytesIO(content))
    equal(parallel.read_file(root + "/parallel").read() == content, True)
    client.create("file", root + "/joined")
    client.concatenate([root + "/parts", root + "/bytes"], root + "/joined")
    equal(read(root + "/joined") == b"inside" + content, True)
    # As operations and `yt` upload what a job needs: by its hash, once.
    with tempfile.NamedTemporaryFile() as local:
        local.write(content)
        local.flush()
        cached = client.smart_upload_file(local.name)
        equal(read(cached) == content, True)
        equal(client.smart_upload_file(local.name), cached)
    client.remove(root, recursive=True)


FAMILIES = [cypress, transactions, batches, static_tables, sorted_tables, ordered_tables, files]


def main():
    proxy, names = sys.argv[1], sys.argv[2:]
    for family in FAMILIES:
        if not names or family.__name__ in names:
            config = yt.default_config.get_config_from_env()
            config["proxy"]["url"] = proxy
            # A retry would hide a fault of the server.
            config["proxy"]["retries"]["enable"] = False
            config["dynamic_table_retries"]["enable"] = False
            family(yt.YtClient(config=config))
            print("ok", family.__name__, flush=True)


main()
