// Round trips through the real Go SDK, run by ../go.test.ts: one `ok NAME` line for each that holds.
// Arguments: the address of a cluster, the codec, then the names of the round trips (all by default).
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"time"

	"go.ytsaurus.tech/yt/go/ypath"
	"go.ytsaurus.tech/yt/go/yt"
	"go.ytsaurus.tech/yt/go/yt/ythttp"
	"go.ytsaurus.tech/yt/go/yterrors"
)

// roundTrip works below a folder of its own and panics with a failure where an answer is not the expected one.
type roundTrip func(ctx context.Context, client yt.Client, folder ypath.Path)

var roundTrips = []struct {
	name string
	run  roundTrip
}{
	{"nodes", nodes},
	{"batch", batch},
	{"master_transactions", masterTransactions},
	{"static_table", staticTable},
	{"dynamic_table", dynamicTable},
	{"tablet_transactions", tabletTransactions},
	{"ordered_table", orderedTable},
	{"producer", producer},
}

var codecs = map[string]yt.ClientCompressionCodec{
	"default":  yt.ClientCodecDefault,
	"none":     yt.ClientCodecNone,
	"gzip":     yt.ClientCodecGZIP,
	"snappy":   yt.ClientCodecSnappy,
	"zstd_1":   yt.ClientCodecZSTDFastest,
	"zstd_7":   yt.ClientCodecZSTDBetterCompression,
	"brotli_1": yt.ClientCodecBrotliFastest,
	"brotli_6": yt.ClientCodecBrotliDefault,
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: round-trips PROXY CODEC [NAME...]")
		os.Exit(2)
	}
	proxy, codecName, names := os.Args[1], os.Args[2], os.Args[3:]
	codec, ok := codecs[codecName]
	must(ok, "there is no codec %q", codecName)
	client, err := ythttp.NewClient(&yt.Config{Proxy: proxy, CompressionCodec: codec})
	succeeds(err)
	defer client.Stop()
	for _, trip := range roundTrips {
		if len(names) == 0 || slices.Contains(names, trip.name) {
			play(client, trip.run, ypath.Path("//tmp/go_"+codecName+"_"+trip.name))
			fmt.Println("ok", trip.name)
		}
	}
}

func play(client yt.Client, run roundTrip, folder ypath.Path) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := client.CreateNode(ctx, folder, yt.NodeMap, &yt.CreateNodeOptions{Recursive: true})
	succeeds(err)
	run(ctx, client, folder)
}

func must(holds bool, format string, values ...any) {
	if !holds {
		panic(fmt.Sprintf(format, values...))
	}
}

func succeeds(err error) {
	must(err == nil, "failed: %+v", err)
}

func equal(actual, expected any) {
	must(reflect.DeepEqual(actual, expected), "got %#v, not %#v", actual, expected)
}

// failsWith wants an error that has the code somewhere in its tree.
func failsWith(err error, code yterrors.ErrorCode) {
	must(err != nil, "no error, where code %d was expected", int(code))
	must(yterrors.ContainsErrorCode(err, code), "not code %d: %+v", int(code), err)
}

// allRows reads to the end. It takes the two results of the reading calls.
func allRows[Row any](reader yt.TableReader, err error) []Row {
	succeeds(err)
	defer func() { _ = reader.Close() }()
	rows := []Row{}
	for reader.Next() {
		var row Row
		succeeds(reader.Scan(&row))
		rows = append(rows, row)
	}
	succeeds(reader.Err())
	return rows
}

func pointer[T any](value T) *T {
	return &value
}
