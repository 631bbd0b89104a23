/**
 * Ports for clusters that take any (`HOST:0`). They are found before anything starts, as every cluster is
 * told of all the others when it starts.
 */
import { createServer, type Server } from "node:net";
import { toYtError, YtError } from "@qyt/base";
import type { Address } from "./cluster-option.ts";

/** The same addresses with real ports, all different. @throws YtError 1 when a host cannot be listened on */
export async function withFreePorts(addresses: readonly Address[]): Promise<readonly Address[]> {
  const held: Server[] = [];
  try {
    const found: Address[] = [];
    for (const address of addresses) {
      if (address.port === 0) {
        // Held until all are found, or the system might name one port twice.
        const { server, port } = await hold(address.host);
        held.push(server);
        found.push({ host: address.host, port });
      } else {
        found.push(address);
      }
    }
    return found;
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

function hold(host: string): Promise<{ server: Server; port: number }> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) =>
      reject(new YtError(`Cannot listen on ${host}: ${toYtError(error).message}`, { cause: error })),
    );
    server.listen(0, host, () => {
      const address = server.address();
      resolve({ server, port: address !== null && typeof address === "object" ? address.port : 0 });
    });
  });
}
