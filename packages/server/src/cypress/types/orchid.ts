/**
 * The node type `orchid`: a window into another process, which answers for everything below the node.
 * Specified in: yt/yt/server/master/orchid_server/orchid_node_type_handler (manifest: `remote_addresses`).
 */
import { bare, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { Node } from "../node.ts";
import type { BuiltinAttribute, NodeType, RemoteValue } from "../node-type.ts";

/** Value at an address, "host:port", of another process. */
export type RemoteAddress = (address: string) => RemoteValue;

interface OrchidState {
  /** Addresses by the name of the network; `default` is the one that is asked. */
  readonly remoteAddresses: YsonMap;
}

const maxAddresses = 16;

/** @throws YtError */
function parseAddresses(value: YsonValue): YsonMap {
  const plain = bare(value);
  const isValid =
    isMap(plain) &&
    plain.size <= maxAddresses &&
    [...plain.values()].every((address) => typeof bare(address) === "string");
  if (!isValid) {
    throw new YtError('"remote_addresses" must be a map from names of networks to "host:port"');
  }
  return plain;
}

export function orchidType(remoteAddress: RemoteAddress): NodeType<OrchidState> {
  return {
    name: "orchid",
    objectType: 412,
    content: "entity",
    attributes: new Map<string, BuiltinAttribute<OrchidState>>([
      [
        "remote_addresses",
        {
          get: (node) => node.state.remoteAddresses,
          set: (_draft, _node, value) => ({ state: { remoteAddresses: parseAddresses(value) } }),
        },
      ],
    ]),
    encodeState: ({ remoteAddresses }) => remoteAddresses,
    decodeState: (value) => ({ remoteAddresses: parseAddresses(value) }),
    create(_draft, input) {
      const given = input.attributes.get("remote_addresses");
      input.attributes.delete("remote_addresses");
      return { remoteAddresses: given === undefined ? mapOf({}) : parseAddresses(given) };
    },
    remote: (node, view) => remoteAddress(addressOf(node, () => view.pathOf(node))),
  };
}

/** @throws YtError when nobody has said whom to ask */
function addressOf(node: Node<OrchidState>, path: () => string): string {
  const address = bare(node.state.remoteAddresses.get("default") ?? null);
  if (typeof address !== "string") {
    throw new YtError(
      `Orchid ${path()} has no address: set ${path()}/@remote_addresses to {default="host:port"}`,
    );
  }
  return address;
}
