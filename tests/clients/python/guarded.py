"""Rows both ways over https with a token, and what the library says of a token that is wrong."""
import json
import sys

import yt.wrapper as yt

url, token, ca = sys.argv[1:]
proxy = {"url": url, "ca_bundle_path": ca, "retries": {"count": 1, "enable": False}}
client = yt.YtClient(token=token, config={"proxy": proxy})
# The plain environment has no bindings for YSON rows.
json_rows = yt.JsonFormat()

client.create("table", "//tmp/t", attributes={
    "dynamic": True,
    "schema": [{"name": "k", "type": "int64", "sort_order": "ascending"}, {"name": "v", "type": "string"}],
})
client.mount_table("//tmp/t", sync=True)
client.insert_rows("//tmp/t", [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}], format=json_rows)
with client.Transaction(type="tablet"):
    client.insert_rows("//tmp/t", [{"k": 3, "v": "c"}], format=json_rows)
print(json.dumps([row["v"] for row in client.select_rows("* from [//tmp/t]", format=json_rows)]))

client.write_table("//tmp/s", [{"x": 1}], format=json_rows)
print(json.dumps(list(client.read_table("//tmp/s", format=json_rows))))
print(client.get_current_user()["user"])

# The library hands the bytes of the answer on.
digests = json.loads(client.list_user_tokens("root"))
print(len(digests))
issued = client.issue_token("root")
again = yt.YtClient(token=issued, config={"proxy": proxy})
print(again.get_current_user()["user"])
client.revoke_token("root", token=issued)

for wrong in ["wrong", issued]:
    try:
        yt.YtClient(token=wrong, config={"proxy": proxy}).get("//tmp/@type")
    except yt.errors.YtTokenError:
        print("YtTokenError")
