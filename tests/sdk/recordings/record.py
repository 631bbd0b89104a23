"""Records what the Python client sends for each call: run with the address of a cluster, prints JSON.

Answers come from the cluster; a call that it refuses is recorded all the same.
"""

import json
import re
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yt.wrapper as yt
import yt.yson as yson

target = sys.argv[1]
seen = []
guid = re.compile(r"\b[0-9a-f]{1,8}(?:-[0-9a-f]{1,8}){3}\b")


class Recorder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def handle_any(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while True:
                size = int(self.rfile.readline(), 16)
                piece = self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    break
                body += piece
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match = re.match(r"/api/v4/(\w+)$", self.path)
        if match:
            note(self.command, match.group(1), self.headers, body)
        if self.path == "/api/v4":
            # The cluster may not know them yet; the client sends only what is in this list.
            with urllib.request.urlopen(f"http://{target}/api/v4") as response:
                return self.answer(200, {"Content-Type": "application/json"}, json.dumps(json.load(response) + flow_commands).encode())
        if self.path.startswith("/hosts"):
            return self.answer(200, {"Content-Type": "application/json"}, json.dumps([address]).encode())
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "transfer-encoding", "content-length")}
        request = urllib.request.Request(f"http://{target}{self.path}", data=body if self.command != "GET" else None, headers=headers, method=self.command)
        try:
            with urllib.request.urlopen(request) as response:
                self.answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            self.answer(error.code, error.headers, error.read())

    do_GET = do_POST = do_PUT = handle_any

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "trailer"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


null_id = "0-0-0-0"


def text(value):
    return guid.sub(lambda found: found[0] if found[0] == null_id else "1-2-3-4", yson.dumps(value, yson_format="text", sort_keys=True).decode("latin1"))


def note(method, command, headers, body):
    header = headers.get("X-YT-Parameters")
    if header is not None:
        parameters = yson.loads(header.encode("latin1"))
    else:
        parameters, body = yson.loads(body) if body else {}, b""
    form = str(parameters.get("input_format"))
    for name in ("input_format", "output_format"):
        if name in parameters:
            parameters[name] = str(parameters[name])
    if command == "start_transaction":
        # They tell about the machine.
        del parameters["attributes"]
    record = {"method": method, "command": command, "parameters": text(parameters)}
    if method == "PUT":
        if form == "yson" and command in rows_of:
            record["rows"] = [text(row) for row in yson.loads(body, yson_type="list_fragment")]
        elif form == "yson":
            record["value"] = text(yson.loads(body))
        else:
            record["bytes"] = body.decode("latin1")
    seen.append(record)


rows_of = {"insert_rows", "delete_rows", "lookup_rows", "lock_rows", "write_table", "push_queue_producer"}
flow_commands = [
    {"name": "remove_pipeline_spec", "input_type": "null", "output_type": "structured", "is_volatile": True, "is_heavy": False},
    {"name": "remove_pipeline_dynamic_spec", "input_type": "null", "output_type": "structured", "is_volatile": True, "is_heavy": False},
    {"name": "flow_execute", "input_type": "structured", "output_type": "structured", "is_volatile": True, "is_heavy": True},
]

server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
address = f"127.0.0.1:{server.server_address[1]}"
threading.Thread(target=server.serve_forever, daemon=True).start()

client = yt.YtClient(address, token="token")
for key, value in {
    "proxy/content_encoding": "identity",
    "proxy/accept_encoding": "identity",
    "structured_data_format": yt.YsonFormat(format="binary"),
    "proxy/retries/enable": False,
    "dynamic_table_retries/enable": False,
    "write_retries/enable": False,
    "read_retries/enable": False,
    "tabular_data_format": yt.YsonFormat(format="binary"),
}.items():
    node = client.config
    *way, last = key.split("/")
    for part in way:
        node = node[part]
    node[last] = value

key_schema = [{"name": "k", "type": "int64", "sort_order": "ascending"}, {"name": "v", "type": "string"}]
queue_schema = [{"name": "data", "type": "string"}]
q, c, p, t, s, f = "//tmp/q", "//tmp/c", "//tmp/p", "//tmp/t", "//tmp/s", "//tmp/f"


def tablet():
    return client.Transaction(type="tablet", ping=False)


def in_master(work):
    with client.Transaction(ping=False):
        work()


def in_tablet(work):
    with tablet():
        work()


calls = {
    "create": lambda: client.create("map_node", "//tmp/a", recursive=True),
    "create with attributes": lambda: client.create("table", t, attributes={"dynamic": True, "schema": key_schema}),
    "create a queue": lambda: client.create("table", q, attributes={"dynamic": True, "schema": queue_schema}),
    "create a consumer": lambda: client.create("queue_consumer", c),
    "create a producer": lambda: client.create("queue_producer", p),
    "create a static table": lambda: client.create("table", s),
    "create a user": lambda: client.create("user", attributes={"name": "ann"}),
    "create a group": lambda: client.create("group", attributes={"name": "team"}),
    "set": lambda: client.set("//tmp/a/@x", {"y": [1, "two", None, 2.5, True]}),
    "set recursively": lambda: client.set("//tmp/a/b/c", 5, recursive=True),
    "get": lambda: client.get("//tmp/a/@x"),
    "get with attributes": lambda: client.get("//tmp", attributes=["type", "id"]),
    "list": lambda: client.list("//tmp"),
    "list with attributes": lambda: client.list("//tmp", attributes=["type"]),
    "exists": lambda: client.exists("//tmp/a"),
    "copy": lambda: client.copy("//tmp/a", "//tmp/b", recursive=True),
    "move": lambda: client.move("//tmp/b", "//tmp/d", force=True),
    "link": lambda: client.link("//tmp/a", "//tmp/l", ignore_existing=True),
    "remove": lambda: client.remove("//tmp/d", recursive=True, force=True),
    "concatenate": lambda: client.concatenate([s, s], s),
    "mount_table": lambda: client.mount_table(t),
    "mount_table, a queue": lambda: client.mount_table(q),
    "insert_rows": lambda: client.insert_rows(t, [{"k": 1, "v": "a"}, {"k": 2, "v": None}]),
    "insert_rows with update": lambda: client.insert_rows(t, [{"k": 1, "v": "b"}], update=True, aggregate=False),
    "insert_rows, a queue": lambda: client.insert_rows(q, [{"data": "a"}, {"data": "b"}]),
    "lookup_rows": lambda: list(client.lookup_rows(t, [{"k": 1}], column_names=["v"], keep_missing_rows=True)),
    "select_rows": lambda: list(client.select_rows("v from [//tmp/t] where k = 1")),
    "select_rows with limits": lambda: list(client.select_rows("v from [//tmp/t]", input_row_limit=100, output_row_limit=10, allow_full_scan=True)),
    "delete_rows": lambda: client.delete_rows(t, [{"k": 2}]),
    "lock_rows": lambda: in_tablet(lambda: client.lock_rows(t, [{"k": 1}], lock_type="exclusive")),
    "get_tablet_infos": lambda: client.get_tablet_infos(q, [0]),
    "get_tablet_errors": lambda: client.get_tablet_errors(q),
    "trim_rows": lambda: client.trim_rows(q, 0, 1),
    "register_queue_consumer": lambda: client.register_queue_consumer(q, c, True),
    "register_queue_consumer with partitions": lambda: client.register_queue_consumer(q, c, False, partitions=[0]),
    "list_queue_consumer_registrations": lambda: client.list_queue_consumer_registrations(queue_path=q),
    "pull_queue": lambda: list(client.pull_queue(q, 0, 0, max_row_count=10, max_data_weight=1000)),
    "pull_queue_consumer": lambda: list(client.pull_queue_consumer(c, q, 0, 0, max_row_count=10)),
    "advance_queue_consumer": lambda: client.advance_queue_consumer(c, q, 0, 0, 1),
    "create_queue_producer_session": lambda: client.create_queue_producer_session(p, q, "s", user_meta={"x": 1}),
    "push_queue_producer": lambda: client.push_queue_producer(p, q, "s", 0, [{"data": "x", "$sequence_number": 1}], user_meta={"x": 2}),
    "remove_queue_producer_session": lambda: client.remove_queue_producer_session(p, q, "s"),
    "unregister_queue_consumer": lambda: client.unregister_queue_consumer(q, c),
    "freeze_table": lambda: client.freeze_table(t),
    "unfreeze_table": lambda: client.unfreeze_table(t),
    "remount_table": lambda: client.remount_table(t),
    "unmount_table": lambda: client.unmount_table(t, force=True),
    "reshard_table": lambda: client.reshard_table(t, [[], [5]]),
    "reshard_table by count": lambda: client.reshard_table(q, tablet_count=2),
    "alter_table": lambda: client.alter_table(t, dynamic=True),
    "start_transaction": lambda: client.start_transaction(timeout=15000, attributes={}),
    "start_transaction, tablet": lambda: client.start_transaction(timeout=15000, type="tablet", sticky=True),
    "ping_transaction": lambda: client.ping_transaction("1-2-1-4"),
    "commit_transaction": lambda: client.commit_transaction("1-2-1-4"),
    "abort_transaction": lambda: client.abort_transaction("1-2-1-4"),
    "lock": lambda: in_master(lambda: client.lock("//tmp/a", mode="shared", child_key="x")),
    "unlock": lambda: in_master(lambda: client.unlock("//tmp/a")),
    "generate_timestamp": lambda: client.generate_timestamp(),
    "check_permission": lambda: client.check_permission("ann", "read", "//tmp/a"),
    "check_permission with columns": lambda: client.check_permission("ann", "read", t, columns=["v"]),
    "add_member": lambda: client.add_member("ann", "team"),
    "remove_member": lambda: client.remove_member("ann", "team"),
    "issue_token": lambda: client.issue_token("ann"),
    "list_user_tokens": lambda: client.list_user_tokens("ann"),
    "revoke_token": lambda: client.revoke_token("ann", token_sha256="0" * 64),
    "set_user_password": lambda: client.set_user_password("ann", "new", current_password="old"),
    "get_supported_features": lambda: client.get_supported_features(),
    "write_table": lambda: client.write_table(s, [{"k": 1, "v": "a"}], force_create=False),
    "write_file": lambda: client.write_file(f, b"hello", force_create=True),
    "remove_pipeline_spec": lambda: client.remove_pipeline_spec("//tmp/pipe", spec_path="/a", expected_version=5),
    "remove_pipeline_dynamic_spec": lambda: client.remove_pipeline_dynamic_spec("//tmp/pipe", spec_path="/a"),
    "flow_execute": lambda: client.flow_execute("//tmp/pipe", "describe-pipeline", {"status_only": True}),
}

recordings = {}
for name, call in calls.items():
    seen.clear()
    try:
        call()
    except Exception as error:
        print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
    own = name.split(",")[0].split(" ")[0]
    recordings[name] = next((record for record in seen if record["command"] == own), None)
    if recordings[name] is None:
        print(f"{name}: not sent; {[record['command'] for record in seen]}", file=sys.stderr)
        del recordings[name]
json.dump(recordings, sys.stdout, indent=1, ensure_ascii=False)
print()
