/** The exports of one queue: one exporter for each name in `@static_export_config`. */
import { mapOf, type YsonValue, type YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import type { AlertManager } from "../alerts/alert-manager.ts";
import type { AgentContext } from "../context.ts";
import type { ObjectReference } from "../objects/reference.ts";
import type { QueueRow } from "../objects/state-rows.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import type { ExportManager } from "./export-manager.ts";
import type { QueueExportProgress } from "./queue-export-progress.ts";

export class QueueExports {
  #error: YtError | null = null;

  // biome-ignore lint/complexity/noUselessConstructor: the exporters that need these come next
  constructor(
    _context: AgentContext,
    _queue: ObjectReference,
    _manager: ExportManager,
    _alerts: AlertManager,
  ) {}

  /** Follows the queue's configuration: starts, changes and stops exporters. Once in each leading pass. */
  update(_row: QueueRow, _snapshot: QueueSnapshot): void {
    this.#error = null;
  }

  /** Stops all exporters; `reason` shows in the status and blocks trimming. */
  disable(reason: YtError): void {
    this.#error = reason;
  }

  /** For trimming. */
  progress(): QueueExportProgress {
    return this.#error === null ? { kind: "none" } : { kind: "error", error: this.#error };
  }

  /** The `exports` field of `@queue_status`. */
  status(): YsonValue {
    return mapOf(this.#error === null ? { progress: new Map() } : { error: errorToYson(this.#error) });
  }

  /** The `exporters` node of the Orchid. */
  orchid(): YsonValue {
    return new Map();
  }

  /** Resolves when no task of an exporter runs any more. */
  async stop(): Promise<void> {}
}
