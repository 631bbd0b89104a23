/**
 * The list of queues and consumers that queue agents watch: `//sys/@queue_agent_object_revisions`. It is
 * kept up with every committed change, because it is read every second.
 * Specified in: yt/yt/server/master/table_server/table_manager.cpp (GetQueueAgentObjectRevisionsAsync).
 */
import { mapOf, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import type { Node, View } from "../../cypress/index.ts";
import { asTable, trackedKind } from "./queue-attributes.ts";

interface Entry {
  readonly kind: "queue" | "consumer";
  /** A node keeps its path as long as it lives: a move makes another one. */
  readonly path: string;
  readonly revision: Uint64;
}

export class QueueObjects {
  readonly #entries = new Map<string, Entry>();
  #shown: YsonMap | undefined;

  /** Takes over committed changes; `undefined` for a node that is gone. */
  update(changes: Iterable<readonly [id: string, node: Node | undefined]>, view: View): void {
    for (const [id, node] of changes) {
      const table = node === undefined ? undefined : asTable(node);
      const kind = table === undefined ? undefined : trackedKind(table.state);
      const known = this.#entries.get(id);
      if (table === undefined || kind === undefined) {
        if (known !== undefined) {
          this.#entries.delete(id);
          this.#shown = undefined;
        }
      } else if (known?.kind !== kind || known.revision.value !== table.attributeRevision) {
        const path = known?.path ?? view.pathOf(table);
        this.#entries.set(id, { kind, path, revision: new Uint64(table.attributeRevision) });
        this.#shown = undefined;
      }
    }
  }

  /** `{queues={<path>=<revision>}; consumers={…}}`; the same value until something changes. */
  revisions(): YsonMap {
    if (this.#shown === undefined) {
      const queues = new Map<string, YsonValue>();
      const consumers = new Map<string, YsonValue>();
      for (const { kind, path, revision } of this.#entries.values()) {
        (kind === "queue" ? queues : consumers).set(path, revision);
      }
      this.#shown = mapOf({ queues, consumers });
    }
    return this.#shown;
  }
}
