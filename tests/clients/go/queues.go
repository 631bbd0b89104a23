// Ordered tables and the queue commands that the SDK has: those of producers.
package main

import (
	"context"
	"fmt"

	"go.ytsaurus.tech/yt/go/migrate"
	"go.ytsaurus.tech/yt/go/schema"
	"go.ytsaurus.tech/yt/go/ypath"
	"go.ytsaurus.tech/yt/go/yson"
	"go.ytsaurus.tech/yt/go/yt"
	"go.ytsaurus.tech/yt/go/yterrors"
)

type message struct {
	TabletIndex int64  `yson:"$tablet_index"`
	Data        string `yson:"data"`
}

type readMessage struct {
	TabletIndex int64  `yson:"$tablet_index"`
	RowIndex    int64  `yson:"$row_index"`
	Data        string `yson:"data"`
}

func createQueue(ctx context.Context, client yt.Client, path ypath.Path, tablets int) {
	columns := schema.Schema{Columns: []schema.Column{{Name: "data", Type: schema.TypeString}}}
	succeeds(migrate.Create(ctx, client, path, columns))
	succeeds(client.ReshardTable(ctx, path, &yt.ReshardTableOptions{TabletCount: pointer(tablets)}))
	succeeds(migrate.MountAndWait(ctx, client, path))
}

// messages reads a partition. The SDK has no command that pulls.
func messages(ctx context.Context, client yt.Client, queue ypath.Path, tablet int) []readMessage {
	query := fmt.Sprintf("* from [%s] where [$tablet_index] = %d", queue, tablet)
	return allRows[readMessage](client.SelectRows(ctx, query, nil))
}

func orderedTable(ctx context.Context, client yt.Client, folder ypath.Path) {
	queue := folder.Child("queue")
	createQueue(ctx, client, queue, 2)
	succeeds(client.InsertRows(ctx, queue, []any{message{0, "a"}, message{1, "b"}, message{0, "c"}}, nil))
	equal(messages(ctx, client, queue, 0), []readMessage{{0, 0, "a"}, {0, 1, "c"}})
	equal(messages(ctx, client, queue, 1), []readMessage{{1, 0, "b"}})

	tx, err := client.BeginTabletTx(ctx, nil)
	succeeds(err)
	succeeds(tx.InsertRows(ctx, queue, []any{message{1, "d"}}, nil))
	equal(messages(ctx, client, queue, 1), []readMessage{{1, 0, "b"}})
	succeeds(tx.Commit())
	equal(messages(ctx, client, queue, 1), []readMessage{{1, 0, "b"}, {1, 1, "d"}})
}

func producer(ctx context.Context, client yt.Client, folder ypath.Path) {
	queue, path := folder.Child("queue"), folder.Child("producer")
	createQueue(ctx, client, queue, 2)
	_, err := client.CreateNode(ctx, path, yt.NodeQueueProducer, nil)
	succeeds(err)
	succeeds(migrate.MountAndWait(ctx, client, path))

	const session = "сессия"
	meta := map[string]any{"position": int64(7)}
	created, err := client.CreateQueueProducerSession(ctx, path, queue, session, &yt.CreateQueueProducerSessionOptions{UserMeta: meta})
	succeeds(err)
	equal([]int64{created.Epoch, created.SequenceNumber}, []int64{0, -1})
	equal(userMeta(created), meta)

	push := func(epoch int64, first int64, rows ...any) (*yt.PushQueueProducerResult, error) {
		return client.PushQueueProducer(ctx, path, queue, session, epoch, rows, &yt.PushQueueProducerOptions{SequenceNumber: &first})
	}
	result, err := push(0, 0, message{0, "a"}, message{1, "b"}, message{0, "c"})
	succeeds(err)
	equal(*result, yt.PushQueueProducerResult{LastSequenceNumber: 2, SkippedRowCount: 0})
	// Row 2 again: it is there, and not written twice.
	result, err = push(0, 2, message{0, "c"}, message{1, "d"})
	succeeds(err)
	equal(*result, yt.PushQueueProducerResult{LastSequenceNumber: 3, SkippedRowCount: 1})
	equal(messages(ctx, client, queue, 0), []readMessage{{0, 0, "a"}, {0, 1, "c"}})
	equal(messages(ctx, client, queue, 1), []readMessage{{1, 0, "b"}, {1, 1, "d"}})

	// Numbers in the rows, and metadata with the push.
	numbered := map[string]any{"data": "e", "$sequence_number": int64(10), "$tablet_index": int64(0)}
	result, err = client.PushQueueProducer(ctx, path, queue, session, 0, []any{numbered}, &yt.PushQueueProducerOptions{UserMeta: "текст"})
	succeeds(err)
	equal(*result, yt.PushQueueProducerResult{LastSequenceNumber: 10, SkippedRowCount: 0})

	// A new session makes the old one a zombie.
	created, err = client.CreateQueueProducerSession(ctx, path, queue, session, nil)
	succeeds(err)
	equal([]int64{created.Epoch, created.SequenceNumber}, []int64{1, 10})
	equal(userMeta(created), "текст")
	_, err = push(0, 11, message{0, "zombie"})
	failsWith(err, yterrors.CodeZombieEpoch)
	_, err = push(2, 11, message{0, "future"})
	failsWith(err, yterrors.CodeQueueClientInvalidEpoch)

	pushInTransaction(ctx, client, path, queue, session)

	succeeds(client.RemoveQueueProducerSession(ctx, path, queue, session, nil))
	_, err = push(1, 20, message{0, "removed"})
	must(err != nil, "a push to a session that was removed")
	equal(len(messages(ctx, client, queue, 0))+len(messages(ctx, client, queue, 1)), 6)
}

func pushInTransaction(ctx context.Context, client yt.Client, path, queue ypath.Path, session string) {
	rows := []any{message{1, "in a transaction"}}
	options := func() *yt.PushQueueProducerOptions {
		return &yt.PushQueueProducerOptions{SequenceNumber: pointer(int64(11))}
	}
	aborted, err := client.BeginTabletTx(ctx, nil)
	succeeds(err)
	_, err = aborted.PushQueueProducer(ctx, path, queue, session, 1, rows, options())
	succeeds(err)
	succeeds(aborted.Abort())

	tx, err := client.BeginTabletTx(ctx, nil)
	succeeds(err)
	result, err := tx.PushQueueProducer(ctx, path, queue, session, 1, rows, options())
	succeeds(err)
	equal(*result, yt.PushQueueProducerResult{LastSequenceNumber: 11, SkippedRowCount: 0})
	equal(len(messages(ctx, client, queue, 1)), 2)
	succeeds(tx.Commit())
	equal(messages(ctx, client, queue, 1)[2], readMessage{1, 2, "in a transaction"})
}

func userMeta(created *yt.CreateQueueProducerSessionResult) (value any) {
	succeeds(yson.Unmarshal(created.UserMeta, &value))
	return value
}
