/** All node types of a cluster: the built-in ones and those that other rooms register. */
import { YtError } from "@qyt/base";
import { nodeAttributes, objectAttributes } from "../attributes/base.ts";
import type { BuiltinAttribute, NodeType, NodeTypes, VirtualChildren } from "../node-type.ts";
import { accountType } from "./accounts.ts";
import { mediumType, schemaType, tabletCellBundleType, tabletCellType } from "./cluster-objects.ts";
import { emptyEntityType } from "./file.ts";
import { linkType } from "./link.ts";
import { mapNodeType, mapType } from "./map-node.ts";
import { orchidType, type RemoteAddress } from "./orchid.ts";
import { documentType, listNodeType, scalarTypes } from "./scalars.ts";
import { groupType, userType } from "./subjects.ts";
import { sysNodeType } from "./sys-node.ts";
import { type LastPing, transactionTypes, virtualMapType } from "./transaction-types.ts";

/** Name of the type of a computed map under `//sys`. */
export function virtualMapTypeName(key: string): string {
  return `${key.replace(/s$/, "")}_map`;
}

export interface RegistryOptions {
  readonly nodeTypes: readonly NodeType[];
  readonly attributeExtensions: ReadonlyMap<string, ReadonlyMap<string, BuiltinAttribute>>;
  readonly virtualMaps: ReadonlyMap<string, VirtualChildren>;
  readonly lastPing: LastPing;
  readonly remoteAddress: RemoteAddress;
}

const virtualMapCode = 600;

function builtinTypes(options: RegistryOptions): NodeType[] {
  return [
    mapNodeType,
    sysNodeType,
    mapType("account_map", 414),
    mapType("user_map", 415),
    mapType("group_map", 416),
    mapType("schema_map", 424),
    mapType("tablet_cell_map", 703),
    mapType("tablet_cell_bundle_map", 707),
    mapType("medium_map", 409),
    mapType("pipeline", 126),
    documentType,
    listNodeType,
    ...scalarTypes,
    linkType,
    emptyEntityType("file", 400),
    emptyEntityType("journal", 423),
    orchidType(options.remoteAddress) as NodeType,
    userType,
    groupType,
    accountType,
    tabletCellBundleType,
    tabletCellType,
    mediumType,
    schemaType,
    ...transactionTypes(options.lastPing),
    ...[...options.virtualMaps].map(([key, children]) =>
      virtualMapType(virtualMapTypeName(key), virtualMapCode, children),
    ),
  ];
}

/** Replication without a cluster that keeps the log. */
const chaosTypes: ReadonlySet<string> = new Set([
  "chaos_replicated_table",
  "chaos_table_replica",
  "replication_log_table",
  "replication_card",
  "chaos_cell",
  "chaos_cell_bundle",
]);

export class TypeRegistry implements NodeTypes {
  readonly #types = new Map<string, NodeType>();
  readonly #attributes = new Map<string, ReadonlyMap<string, BuiltinAttribute>>();

  constructor(options: RegistryOptions) {
    for (const type of [...builtinTypes(options), ...options.nodeTypes]) {
      this.#types.set(type.name, type);
      this.#attributes.set(
        type.name,
        new Map<string, BuiltinAttribute>([
          ...objectAttributes,
          ...(type.isObject === true ? [] : nodeAttributes),
          ...type.attributes,
          ...(options.attributeExtensions.get(type.name) ?? []),
        ]),
      );
    }
  }

  find(name: string): NodeType | undefined {
    return this.#types.get(name);
  }

  get(name: string): NodeType {
    const type = this.#types.get(name);
    if (type === undefined && chaosTypes.has(name)) {
      throw new YtError(
        `Chaos tables are not supported: objects of type "${name}" cannot be created; create a replicated_table with replicas on this cluster`,
      );
    }
    if (type === undefined) {
      throw new YtError(`Error parsing EObjectType value "${name}"`);
    }
    return type;
  }

  all(): Iterable<NodeType> {
    return this.#types.values();
  }

  attributesOf(name: string): ReadonlyMap<string, BuiltinAttribute> {
    return this.#attributes.get(name) ?? new Map();
  }
}
