/** `qyt producer describe`: the sessions of a producer: who wrote how far, and which epoch holds. */
import { mapOf, type YsonValue, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { toYson, writeYsonText } from "@qyt/yson";
import { objectPath } from "./queue-facts.ts";
import { grouped, type Report } from "./report.ts";

const maxSessions = 1_000;

export async function describeProducer(client: YtClient, path: string): Promise<Report> {
  const producer = objectPath(path);
  const isProducer = await client.get(`${producer.path}/@treat_as_queue_producer`).catch(() => false);
  if (isProducer !== true && !(await client.exists(producer.path))) {
    throw new YtError(
      `Producer ${producer.path} is not there: yt create queue_producer ${producer.path} makes one`,
      {
        code: "ResolveError",
      },
    );
  }
  const sessions = await client.selectRows(
    `[queue_cluster], [queue_path], [session_id], [sequence_number], [epoch], [user_meta] from [${producer.path}] limit ${maxSessions}`,
  );
  const meta = sessions.map((session): YsonValue => toYson(session["user_meta"] ?? null));
  return {
    document: mapOf({
      path: producer.path,
      sessions: sessions.map((session, index) =>
        mapOf({
          queue: `<cluster=${writeYsonText(String(session["queue_cluster"]))}>${String(session["queue_path"])}`,
          session_id: String(session["session_id"]),
          sequence_number: BigInt(String(session["sequence_number"])),
          epoch: BigInt(String(session["epoch"])),
          user_meta: meta[index] ?? null,
        }),
      ),
    }),
    tables: [
      `Producer ${producer.path}, ${sessions.length} session(s)`,
      {
        columns: [
          { title: "queue" },
          { title: "session" },
          { title: "sequence number", isNumber: true },
          { title: "epoch", isNumber: true },
          { title: "user meta" },
        ],
        rows: sessions.map((session, index) => [
          `${String(session["queue_cluster"])}:${String(session["queue_path"])}`,
          String(session["session_id"]),
          grouped(BigInt(String(session["sequence_number"]))),
          String(session["epoch"]),
          writeYsonText(meta[index] ?? null),
        ]),
        empty: "no session yet: yt create-queue-producer-session begins one",
      },
      ...(sessions.length === maxSessions ? [`Only the first ${maxSessions} sessions are shown.`] : []),
    ],
  };
}
