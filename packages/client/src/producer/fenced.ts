/** Somebody else has taken a producer's session over. */
import { bare, isMap, type YsonValue, YtError } from "@qyt/base";
import { parseYsonList } from "@qyt/yson";
import { text } from "../answers.ts";
import type { RowCommands } from "../commands/rows.ts";
import type { PathInput } from "../types.ts";

/**
 * The session has a newer epoch: another producer goes on with it, and this one must stop. Rows that were not
 * acknowledged are not written by this one any more. The code is 3102 (ZombieEpoch).
 */
export class ProducerFenced extends YtError {
  /** The epoch of the session now, where it could be read. */
  readonly currentEpoch: bigint | undefined;
  /** The note that the session has now: who took over, if producers say so in it. */
  readonly userMeta: YsonValue;

  constructor(
    own: { readonly sessionId: string; readonly epoch: bigint },
    now: SessionNow,
    refusal: YtError,
  ) {
    super(
      `Session "${own.sessionId}" was taken over by another producer${now.epoch === undefined ? "" : ` (epoch ${now.epoch}, this one has ${own.epoch})`}: stop this one, or give each producer a session of its own`,
      {
        code: "ZombieEpoch",
        attributes: {
          session_id: own.sessionId,
          epoch: own.epoch,
          current_epoch: now.epoch,
          user_meta: now.userMeta,
        },
        inner: [refusal],
      },
    );
    this.currentEpoch = now.epoch;
    this.userMeta = now.userMeta;
  }
}

export interface SessionNow {
  readonly epoch: bigint | undefined;
  readonly userMeta: YsonValue;
}

/** The session's row in the producer's table; empty when it cannot be read. */
export async function readSession(
  commands: RowCommands,
  session: { readonly producerPath: PathInput; readonly queuePath: PathInput; readonly sessionId: string },
): Promise<SessionNow> {
  const { producerPath, queuePath, sessionId } = session;
  const conditions = `queue_path = ${literal(text(bare(queuePath)))} and session_id = ${literal(sessionId)}`;
  const query = `epoch, user_meta from [${text(bare(producerPath))}] where ${conditions}`;
  try {
    const bytes: Buffer[] = [];
    for await (const piece of commands.selectedBytes(query)) {
      bytes.push(piece);
    }
    const row = parseYsonList(Buffer.concat(bytes)).find(isMap);
    const epoch = row?.get("epoch");
    return {
      epoch: typeof epoch === "bigint" ? epoch : undefined,
      userMeta: row?.get("user_meta") ?? null,
    };
  } catch {
    return { epoch: undefined, userMeta: null };
  }
}

function literal(value: string): string {
  return `"${value.replace(/[\\"]/g, (sign) => `\\${sign}`)}"`;
}
