import { YtError } from "@qyt/base";
import { parseRichPath } from "@qyt/yson";
import { describe, expect, it } from "vitest";
import { clusterOf, consumerNameOf, formatReference } from "./reference.ts";

describe("clusterOf", () => {
  it.each([
    ["//tmp/q", undefined],
    ["freud://tmp/q", "freud"],
    ["<cluster=freud>//tmp/q", "freud"],
    ['<cluster="freud.yt.yandex.net">//tmp/q', "freud"],
    ['<cluster="freud.example.net">//tmp/q', "freud.example.net"],
    ['<cluster="">//tmp/q', undefined],
    ["<append=%true>freud://tmp/q[#10:#100]", "freud"],
  ])("%s", (text, cluster) => {
    const path = parseRichPath(text);
    expect(clusterOf(path)).toBe(cluster);
    expect(path.path).toBe("//tmp/q");
  });
});

describe("consumerNameOf", () => {
  it("is the attribute, if there is one", () => {
    expect(consumerNameOf(parseRichPath("//tmp/c"))).toBeUndefined();
    expect(consumerNameOf(parseRichPath("<queue_consumer_name=#>//tmp/c"))).toBeUndefined();
    expect(consumerNameOf(parseRichPath("<queue_consumer_name=a>freud://tmp/c"))).toBe("a");
    expect(consumerNameOf(parseRichPath('<queue_consumer_name="a b">//tmp/c'))).toBe("a b");
  });

  it.each(["1", '""', "{}", "%true"])("%s is no name", (value) => {
    expect(() => consumerNameOf(parseRichPath(`<queue_consumer_name=${value}>//tmp/c`))).toThrow(YtError);
  });
});

describe("formatReference", () => {
  it("is cluster:path, with the name in front", () => {
    expect(formatReference({ cluster: "pythia", path: "//tmp/q" })).toBe("pythia://tmp/q");
    expect(formatReference({ cluster: "pythia", path: "//tmp/c", name: "a" })).toBe(
      '<queue_consumer_name="a">pythia://tmp/c',
    );
  });
});
