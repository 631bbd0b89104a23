// Nodes, batches and master transactions.
package main

import (
	"context"
	"fmt"
	"slices"

	"go.ytsaurus.tech/yt/go/guid"
	"go.ytsaurus.tech/yt/go/ypath"
	"go.ytsaurus.tech/yt/go/yt"
	"go.ytsaurus.tech/yt/go/yterrors"
)

type document struct {
	Number int64          `yson:"number"`
	Big    uint64         `yson:"big"`
	Ratio  float64        `yson:"ratio"`
	Text   string         `yson:"text"`
	Bytes  []byte         `yson:"bytes"`
	Flag   bool           `yson:"flag"`
	List   []any          `yson:"list"`
	Map    map[string]any `yson:"map"`
}

func nodes(ctx context.Context, client yt.Client, folder ypath.Path) {
	path := folder.Child("a").Child("узел")
	written := document{
		Number: -1 << 62,
		Big:    1<<64 - 1,
		Ratio:  0.1,
		Text:   "текст\n\"\\",
		Bytes:  []byte{0, 0x80, 0xff},
		Flag:   true,
		List:   []any{int64(1), "two", 2.5, false},
		Map:    map[string]any{"ключ": uint64(7)},
	}
	succeeds(client.SetNode(ctx, path, written, &yt.SetNodeOptions{Recursive: true}))
	var read document
	succeeds(client.GetNode(ctx, path, &read, nil))
	equal(read, written)

	var text string
	succeeds(client.GetNode(ctx, path.Child("text"), &text, nil))
	equal(text, written.Text)
	succeeds(client.SetNode(ctx, path.Attr("note"), "kept", nil))
	succeeds(client.MultisetAttributes(ctx, path.Attrs(), map[string]any{"x": int64(1), "y": "z"}, nil))
	var attributes struct {
		Note string    `yson:"note"`
		X    int64     `yson:"x"`
		Y    string    `yson:"y"`
		Type string    `yson:"type"`
		ID   yt.NodeID `yson:"id"`
	}
	succeeds(client.GetNode(ctx, path.Attrs(), &attributes, nil))
	equal([]any{attributes.Note, attributes.X, attributes.Y, attributes.Type}, []any{"kept", int64(1), "z", "map_node"})

	var listed []struct {
		Name string `yson:",value"`
		Type string `yson:"type,attr"`
	}
	succeeds(client.ListNode(ctx, folder.Child("a"), &listed, &yt.ListNodeOptions{Attributes: []string{"type"}}))
	equal(len(listed), 1)
	equal([]string{listed[0].Name, listed[0].Type}, []string{"узел", "map_node"})

	copied, err := client.CopyNode(ctx, path, folder.Child("copy"), nil)
	succeeds(err)
	must(copied != attributes.ID, "the copy has the id of the original")
	_, err = client.MoveNode(ctx, folder.Child("copy"), folder.Child("moved"), nil)
	succeeds(err)
	_, err = client.LinkNode(ctx, folder.Child("moved"), folder.Child("link"), nil)
	succeeds(err)
	succeeds(client.GetNode(ctx, folder.Child("link").Child("number"), &read.Number, nil))
	equal(read.Number, written.Number)
	expectExists(ctx, client, folder.Child("copy"), false)
	expectExists(ctx, client, folder.Child("moved"), true)
	succeeds(client.RemoveNode(ctx, folder.Child("moved"), &yt.RemoveNodeOptions{Recursive: true}))
	expectExists(ctx, client, folder.Child("moved"), false)

	failsWith(client.GetNode(ctx, folder.Child("none"), &text, nil), yterrors.CodeResolveError)
	_, err = client.CreateNode(ctx, path, yt.NodeMap, nil)
	failsWith(err, yterrors.CodeAlreadyExists)
	id, err := client.CreateNode(ctx, path, yt.NodeMap, &yt.CreateNodeOptions{IgnoreExisting: true})
	succeeds(err)
	equal(id, attributes.ID)
}

func expectExists(ctx context.Context, client yt.CypressClient, path ypath.Path, expected bool) {
	exists, err := client.NodeExists(ctx, path, nil)
	succeeds(err)
	equal(exists, expected)
}

func batch(ctx context.Context, client yt.Client, folder ypath.Path) {
	request, err := client.NewBatchRequest()
	succeeds(err)
	for i := range 5 {
		_, err = request.SetNode(ctx, folder.Child(fmt.Sprint("n", i)), fmt.Sprint("значение ", i), nil)
		succeeds(err)
	}
	created, err := request.CreateNode(ctx, folder.Child("made"), yt.NodeMap, nil)
	succeeds(err)
	var value string
	missing, err := request.GetNode(ctx, folder.Child("none"), &value, nil)
	succeeds(err)
	succeeds(request.ExecuteBatch(ctx, nil))
	succeeds(created.Error())
	failsWith(missing.Error(), yterrors.CodeResolveError)

	request, err = client.NewBatchRequest()
	succeeds(err)
	got, err := request.GetNode(ctx, folder.Child("n4"), &value, nil)
	succeeds(err)
	var names []string
	listed, err := request.ListNode(ctx, folder, &names, nil)
	succeeds(err)
	exists, err := request.NodeExists(ctx, folder.Child("made"), nil)
	succeeds(err)
	succeeds(request.ExecuteBatch(ctx, nil))
	succeeds(got.Error())
	succeeds(listed.Error())
	succeeds(exists.Error())
	equal(value, "значение 4")
	slices.Sort(names)
	equal(names, []string{"made", "n0", "n1", "n2", "n3", "n4"})
	equal(exists.Result(), true)
}

func masterTransactions(ctx context.Context, client yt.Client, folder ypath.Path) {
	tx, err := client.BeginTx(ctx, nil)
	succeeds(err)
	succeeds(tx.SetNode(ctx, folder.Child("inside"), int64(1), nil))
	expectExists(ctx, tx, folder.Child("inside"), true)
	expectExists(ctx, client, folder.Child("inside"), false)
	nested, err := tx.BeginTx(ctx, nil)
	succeeds(err)
	succeeds(nested.SetNode(ctx, folder.Child("nested"), int64(2), nil))
	succeeds(nested.Commit())
	expectExists(ctx, client, folder.Child("nested"), false)
	succeeds(tx.Commit())
	expectExists(ctx, client, folder.Child("inside"), true)
	expectExists(ctx, client, folder.Child("nested"), true)

	tx, err = client.BeginTx(ctx, nil)
	succeeds(err)
	succeeds(tx.SetNode(ctx, folder.Child("aborted"), int64(1), nil))
	succeeds(tx.Abort())
	expectExists(ctx, client, folder.Child("aborted"), false)
	err = tx.SetNode(ctx, folder.Child("aborted"), int64(1), nil)
	must(err != nil, "an aborted transaction goes on")

	tx, err = client.BeginTx(ctx, nil)
	succeeds(err)
	lock, err := tx.LockNode(ctx, folder.Child("inside"), yt.LockExclusive, nil)
	succeeds(err)
	must(lock.LockID != guid.GUID{}, "the lock has no id")
	failsWith(client.SetNode(ctx, folder.Child("inside"), int64(3), nil), yterrors.CodeConcurrentTransactionLockConflict)
	succeeds(tx.Abort())
	succeeds(client.SetNode(ctx, folder.Child("inside"), int64(3), nil))
}
