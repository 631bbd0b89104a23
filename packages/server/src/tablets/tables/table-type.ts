/**
 * The node type `table`: what creating, copying, removing and committing a table does to its rows.
 * Specified in: yt/yt/server/master/table_server, tablet_server/tablet_manager.cpp.
 */
import { YtError } from "@qyt/base";
import type { Draft, Node, NodeType } from "../../cypress/index.ts";
import { replicatedTableAttributes } from "../replicated/replica-attributes.ts";
import { replicatedTableObjectType, replicatedTableTypeName } from "../replicated/replica-state.ts";
import { abortRows, commitRows, holdRows, releaseRows, staticStatistics } from "../static/table-rows.ts";
import { copyState } from "./copying.ts";
import { createState } from "./creation.ts";
import type { TableEnvironment } from "./environment.ts";
import { checkMountSetting } from "./mount-settings.ts";
import { dropSortedRows } from "./sorted-switch.ts";
import { sortedFigures } from "./sorted-tablets.ts";
import { tableAttributes } from "./table-attributes.ts";
import {
  decodeTableState,
  encodeTableState,
  hasOrderedTablets,
  isSortedDynamic,
  type TableState,
  tableObjectType,
} from "./table-state.ts";
import { destroyOrderedTablet } from "./tablets.ts";

export function createTableType(environment: TableEnvironment): NodeType<TableState> {
  return {
    name: "table",
    objectType: tableObjectType,
    content: "entity",
    attributes: tableAttributes(environment),
    checkAttribute: checkMountSetting,
    encodeState: encodeTableState,
    decodeState: decodeTableState,
    create: (draft, input) => createState(environment, draft, input),
    onRemove: (draft, node) => dropRows(environment, draft, node),
    copy: (draft, source, targetId, { move }) => copyState(environment, draft, source, targetId, move),
    onCommit: (draft, branch, above) => commitRows(environment, draft, branch, above),
    onAbort: (draft, branch) => abortRows(environment, draft, branch),
    onSnapshot: (draft, node) => holdRows(environment, draft, node.state),
    onSnapshotReleased: (draft, node) => releaseRows(environment, draft, node.state),
    assignedTablets: ({ state }) =>
      state.tablets.filter((tablet) => tablet.state !== "unmounted").map(({ id }) => id),
    tabletCount: ({ tablets }) => tablets.length,
    usage(node) {
      return usageOf(environment, node.state);
    },
  };
}

/**
 * A replicated table: the same node, whose tablets hold a log instead of rows.
 * Specified in: yt/yt/server/master/table_server/replicated_table_node_type_handler.cpp.
 */
export function createReplicatedTableType(environment: TableEnvironment): NodeType<TableState> {
  const type = createTableType(environment);
  return {
    ...type,
    name: replicatedTableTypeName,
    objectType: replicatedTableObjectType,
    attributes: new Map([...type.attributes, ...replicatedTableAttributes(environment)]),
    create: (draft, input) => createState(environment, draft, input, true),
    onRemove(draft, node) {
      dropRows(environment, draft, node);
      if (draft.transactionId === undefined) {
        for (const { id } of environment.replicas.of(node.id)) {
          if (draft.node(id) !== undefined) {
            draft.removeNode(id);
          }
        }
      }
    },
    copy(draft, source) {
      throw new YtError(
        `Replicated table ${draft.pathOf(source)} cannot be copied or moved: create another one with replicas of its own`,
        { attributes: { path: draft.pathOf(source) } },
      );
    },
  };
}

function dropRows(environment: TableEnvironment, draft: Draft, node: Node<TableState>): void {
  const { state } = node;
  releaseRows(environment, draft, state);
  if (hasOrderedTablets(state)) {
    for (const { id } of state.tablets) {
      destroyOrderedTablet(environment, draft, id);
    }
  }
  if (isSortedDynamic(state)) {
    dropSortedRows(environment, draft, state);
  }
}

function usageOf(
  environment: TableEnvironment,
  state: TableState,
): { diskSpaceBytes: number; chunkCount: number; tabletCount: number } {
  if (!state.dynamic) {
    const { byteSize, chunkCount } = staticStatistics(environment, state);
    return { diskSpaceBytes: byteSize, chunkCount, tabletCount: 0 };
  }
  let diskSpaceBytes = sortedFigures(environment, state).byteSize;
  let chunkCount = 0;
  if (hasOrderedTablets(state)) {
    for (const { id } of state.tablets) {
      const statistics = environment.orderedTablets.get(id)?.statistics();
      diskSpaceBytes += (statistics?.chunkByteSize ?? 0) + (statistics?.dynamicByteSize ?? 0);
      chunkCount += statistics?.chunkCount ?? 0;
    }
  }
  return { diskSpaceBytes, chunkCount, tabletCount: state.tablets.length };
}
