import { YtError } from "@qyt/base";
import { describe, expect, it } from "vitest";
import { formatAddress, parseAddress, parseClusterOption } from "./cluster-option.ts";

describe("--cluster", () => {
  it("takes a name alone", () => {
    expect(parseClusterOption("pythia")).toEqual({ name: "pythia" });
  });

  it("takes a name with an address", () => {
    expect(parseClusterOption("pythia=127.0.0.1:8001")).toEqual({
      name: "pythia",
      address: { host: "127.0.0.1", port: 8001 },
    });
    expect(parseClusterOption("p-1_x=localhost:0").address).toEqual({ host: "localhost", port: 0 });
    expect(parseClusterOption("six=[::1]:8000").address).toEqual({ host: "::1", port: 8000 });
  });

  it.each(["", "a b", "1st", "a.b", "a/b", "../up", "=127.0.0.1:1", "x".repeat(64), "пифия"])(
    "refuses the name %j and says what a name is",
    (name) => {
      expect(() => parseClusterOption(name)).toThrow(/cannot be the name of a cluster: a name starts with/);
    },
  );

  it.each([
    "",
    "8000",
    "127.0.0.1",
    "127.0.0.1:",
    ":8000",
    "127.0.0.1:65536",
    "127.0.0.1:-1",
    "::1:8000",
    "h:1:2",
  ])("refuses the address %j and shows how one looks", (address) => {
    expect(() => parseAddress(address, "c")).toThrow(/for example 127\.0\.0\.1:8000/);
  });

  it.each([
    "0.0.0.0:8000",
    "192.168.1.5:8000",
    "example.org:8000",
    "[::]:8000",
    "[fe80::1]:1",
    "127.0.0.256:1",
    "127.1:1",
  ])("refuses %j, which is not loopback, and says what to do", (address) => {
    expect(() => parseAddress(address, "c")).toThrow(YtError);
    expect(() => parseAddress(address, "c")).toThrow(
      /without authentication it listens on loopback.*--auth.*SSH tunnel/,
    );
  });

  it("takes all of 127.0.0.0/8", () => {
    expect(parseAddress("127.255.0.9:65535", "c")).toEqual({ host: "127.255.0.9", port: 65_535 });
  });

  it("takes any host when users are known", () => {
    expect(parseAddress("0.0.0.0:8000", "c", true)).toEqual({ host: "0.0.0.0", port: 8000 });
    expect(parseClusterOption("a=example.org:80", true).address).toEqual({ host: "example.org", port: 80 });
  });

  it("writes IPv6 in brackets", () => {
    expect(formatAddress({ host: "::1", port: 1 })).toBe("[::1]:1");
    expect(formatAddress({ host: "127.0.0.1", port: 1 })).toBe("127.0.0.1:1");
  });
});
