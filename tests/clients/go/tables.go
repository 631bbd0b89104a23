// Static tables, sorted dynamic tables and tablet transactions.
package main

import (
	"context"
	"fmt"
	"strings"

	"go.ytsaurus.tech/yt/go/migrate"
	"go.ytsaurus.tech/yt/go/schema"
	"go.ytsaurus.tech/yt/go/ypath"
	"go.ytsaurus.tech/yt/go/yt"
	"go.ytsaurus.tech/yt/go/yterrors"
)

type staticRow struct {
	A int64  `yson:"a"`
	B string `yson:"b"`
}

// staticRows are long enough for several blocks of a codec.
func staticRows() []staticRow {
	rows := make([]staticRow, 20_000)
	for i := range rows {
		rows[i] = staticRow{A: int64(i), B: fmt.Sprintf("строка %d %s", i, strings.Repeat("ab", i%30))}
	}
	return rows
}

func staticTable(ctx context.Context, client yt.Client, folder ypath.Path) {
	path := folder.Child("static")
	written := staticRows()
	_, err := yt.CreateTable(ctx, client, path, yt.WithInferredSchema(&staticRow{}))
	succeeds(err)
	writer, err := client.WriteTable(ctx, path, nil)
	succeeds(err)
	for _, row := range written {
		succeeds(writer.Write(row))
	}
	succeeds(writer.Commit())
	var count int64
	succeeds(client.GetNode(ctx, path.Attr("row_count"), &count, nil))
	equal(count, int64(len(written)))

	equal(allRows[staticRow](client.ReadTable(ctx, path, nil)), written)
	part := ypath.NewRich(path.String()).AddRange(ypath.Interval(ypath.RowIndex(10), ypath.RowIndex(13)))
	reader, err := client.ReadTable(ctx, part, nil)
	succeeds(err)
	first, known := yt.StartRowIndex(reader)
	equal([]any{first, known}, []any{int64(10), true})
	equal(allRows[staticRow](reader, nil), written[10:13])
	equal(allRows[map[string]any](client.ReadTable(ctx, part.SetColumns([]string{"a"}), nil))[2], map[string]any{"a": int64(12)})

	tx, err := client.BeginTx(ctx, nil)
	succeeds(err)
	writer, err = tx.WriteTable(ctx, ypath.NewRich(path.String()).SetAppend(), nil)
	succeeds(err)
	succeeds(writer.Write(staticRow{A: -1, B: "more"}))
	succeeds(writer.Commit())
	succeeds(client.GetNode(ctx, path.Attr("row_count"), &count, nil))
	equal(count, int64(len(written)))
	succeeds(tx.Commit())
	succeeds(client.GetNode(ctx, path.Attr("row_count"), &count, nil))
	equal(count, int64(len(written)+1))

	_, err = client.ReadTable(ctx, folder.Child("none"), nil)
	failsWith(err, yterrors.CodeResolveError)
	writer, err = client.WriteTable(ctx, path, nil)
	succeeds(err)
	_ = writer.Write(map[string]any{"a": "not a number", "b": "text"})
	failsWith(writer.Commit(), yterrors.CodeSchemaViolation)
}

type sortedRow struct {
	Key    int64    `yson:"key,key"`
	Value  *string  `yson:"value"`
	Number *float64 `yson:"number"`
	Count  *uint64  `yson:"count"`
	Any    any      `yson:"any"`
}

type sortedKey struct {
	Key int64 `yson:"key"`
}

func createSorted(ctx context.Context, client yt.Client, path ypath.Path) {
	succeeds(migrate.Create(ctx, client, path, schema.MustInfer(&sortedRow{})))
	succeeds(migrate.MountAndWait(ctx, client, path))
}

func dynamicTable(ctx context.Context, client yt.Client, folder ypath.Path) {
	path := folder.Child("dynamic")
	createSorted(ctx, client, path)
	one := sortedRow{Key: 1, Value: pointer("один"), Number: pointer(0.5), Count: pointer(uint64(1<<64 - 1)), Any: map[string]any{"x": []any{int64(1), "y"}}}
	two := sortedRow{Key: 2, Value: pointer("two")}
	succeeds(client.InsertRows(ctx, path, []any{one, two}, nil))
	keys := []any{sortedKey{2}, sortedKey{3}, sortedKey{1}}
	equal(allRows[sortedRow](client.LookupRows(ctx, path, keys, nil)), []sortedRow{two, one})
	equal(
		allRows[*sortedRow](client.LookupRows(ctx, path, keys, &yt.LookupRowsOptions{KeepMissingRows: true})),
		[]*sortedRow{&two, nil, &one},
	)
	equal(
		allRows[map[string]any](client.LookupRows(ctx, path, []any{sortedKey{2}}, &yt.LookupRowsOptions{Columns: []string{"value"}})),
		[]map[string]any{{"value": "two"}},
	)
	equal(allRows[sortedRow](client.SelectRows(ctx, fmt.Sprintf("* from [%s] order by key limit 10", path), nil)), []sortedRow{one, two})
	equal(
		allRows[map[string]any](client.SelectRows(ctx, fmt.Sprintf("sum(key) as total from [%s] where key > 0 group by 1", path), nil)),
		[]map[string]any{{"total": int64(3)}},
	)
	equal(
		allRows[sortedRow](client.SelectRows(ctx, fmt.Sprintf("* from [%s] where key = {key}", path), &yt.SelectRowsOptions{PlaceholderValues: map[string]any{"key": int64(2)}})),
		[]sortedRow{two},
	)

	succeeds(client.InsertRows(ctx, path, []any{map[string]any{"key": int64(1), "value": "uno"}}, &yt.InsertRowsOptions{Update: pointer(true)}))
	one.Value = pointer("uno")
	equal(allRows[sortedRow](client.LookupRows(ctx, path, []any{sortedKey{1}}, nil)), []sortedRow{one})
	succeeds(client.DeleteRows(ctx, path, []any{sortedKey{1}}, nil))
	equal(allRows[sortedRow](client.LookupRows(ctx, path, []any{sortedKey{1}}, nil)), []sortedRow{})

	many := make([]any, 5000)
	for i := range many {
		many[i] = sortedRow{Key: int64(100 + i), Value: pointer(strings.Repeat("z", i%100))}
	}
	succeeds(client.InsertRows(ctx, path, many, nil))
	equal(len(allRows[sortedRow](client.SelectRows(ctx, fmt.Sprintf("* from [%s] where key >= 100", path), nil))), len(many))

	_, err := client.SelectRows(ctx, fmt.Sprintf("* from [%s]", folder.Child("none")), nil)
	failsWith(err, yterrors.CodeResolveError)
	failsWith(client.InsertRows(ctx, path, []any{map[string]any{"key": "text"}}, nil), yterrors.CodeSchemaViolation)
	succeeds(migrate.UnmountAndWait(ctx, client, path))
	failsWith(client.InsertRows(ctx, path, []any{two}, nil), yterrors.CodeTabletNotMounted)
	succeeds(migrate.MountAndWait(ctx, client, path))
	equal(allRows[sortedRow](client.LookupRows(ctx, path, []any{sortedKey{2}}, nil)), []sortedRow{two})
}

func tabletTransactions(ctx context.Context, client yt.Client, folder ypath.Path) {
	path := folder.Child("dynamic")
	createSorted(ctx, client, path)
	row := sortedRow{Key: 1, Value: pointer("in a transaction")}

	tx, err := client.BeginTabletTx(ctx, nil)
	succeeds(err)
	succeeds(tx.InsertRows(ctx, path, []any{row}, nil))
	equal(allRows[sortedRow](client.LookupRows(ctx, path, []any{sortedKey{1}}, nil)), []sortedRow{})
	succeeds(tx.Commit())
	equal(allRows[sortedRow](client.LookupRows(ctx, path, []any{sortedKey{1}}, nil)), []sortedRow{row})

	// The one that commits first wins.
	first, err := client.BeginTabletTx(ctx, nil)
	succeeds(err)
	second, err := client.BeginTabletTx(ctx, nil)
	succeeds(err)
	equal(allRows[sortedRow](second.LookupRows(ctx, path, []any{sortedKey{1}}, nil)), []sortedRow{row})
	winner := sortedRow{Key: 1, Value: pointer("first")}
	succeeds(first.InsertRows(ctx, path, []any{winner}, nil))
	succeeds(second.InsertRows(ctx, path, []any{sortedRow{Key: 1, Value: pointer("second")}}, nil))
	succeeds(first.Commit())
	failsWith(second.Commit(), yterrors.CodeTransactionLockConflict)
	equal(allRows[sortedRow](client.LookupRows(ctx, path, []any{sortedKey{1}}, nil)), []sortedRow{winner})

	aborted, err := client.BeginTabletTx(ctx, nil)
	succeeds(err)
	succeeds(aborted.DeleteRows(ctx, path, []any{sortedKey{1}}, nil))
	succeeds(aborted.Abort())
	equal(allRows[sortedRow](client.LookupRows(ctx, path, []any{sortedKey{1}}, nil)), []sortedRow{winner})

	// Tries again by itself until there is no conflict.
	tries := 0
	succeeds(yt.ExecTabletTx(ctx, client, func(ctx context.Context, tx yt.TabletTx) error {
		tries++
		if err := tx.InsertRows(ctx, path, []any{sortedRow{Key: 2, Value: pointer("from the retried")}}, nil); err != nil {
			return err
		}
		if tries == 1 {
			return client.InsertRows(ctx, path, []any{sortedRow{Key: 2, Value: pointer("from outside")}}, nil)
		}
		return nil
	}, nil))
	equal(tries, 2)
	equal(
		allRows[sortedRow](client.LookupRows(ctx, path, []any{sortedKey{2}}, nil)),
		[]sortedRow{{Key: 2, Value: pointer("from the retried")}},
	)
}
