import { expect, it } from "vitest";
import { withFreePorts } from "./free-ports.ts";

it("finds a different port for each that takes any, and leaves the others alone", async () => {
  const any = { host: "127.0.0.1", port: 0 };
  const [a, b, c, d] = await withFreePorts([any, any, { host: "::1", port: 8000 }, any]);
  expect(c).toEqual({ host: "::1", port: 8000 });
  const ports = [a, b, d].map((address) => address?.port);
  expect(new Set(ports).size).toBe(3);
  expect(ports).not.toContain(0);
});

it("says which host cannot be listened on", async () => {
  await expect(withFreePorts([{ host: "192.0.2.1", port: 0 }])).rejects.toThrow(
    /^Cannot listen on 192\.0\.2\.1: /,
  );
});
