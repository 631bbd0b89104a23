/**
 * The example listing of the YTsaurus documentation (user guide, "Queue API"), which `queue-listing.txt`
 * holds as it is printed there: its commands, what they answer, and which of them belong to what.
 */
import { readFileSync } from "node:fs";

export interface ListingStep {
  /** The comment lines above the command, without `# `. */
  readonly comment: string;
  /** What follows `$ `. */
  readonly command: string;
  /** The printed answer, without the newline at its end. */
  readonly answer: string;
}

/** How the listing creates the consumer: it shows both ways, of which one runs. */
export type ConsumerCreation = "queue_consumer alias" | "explicit schema";

/** Lines that begin with `# ` or `$ `; everything else is the answer of the command above. */
export function parseListing(text: string): ListingStep[] {
  const steps: ListingStep[] = [];
  let comment: string[] = [];
  let current: { comment: string; command: string; answer: string[] } | undefined;
  const finish = (): void => {
    if (current !== undefined) {
      steps.push({ ...current, answer: current.answer.join("\n").trimEnd() });
      current = undefined;
    }
  };
  for (const line of text.split("\n")) {
    if (line.startsWith("# ")) {
      finish();
      comment.push(line.slice(2));
    } else if (line.startsWith("$ ")) {
      finish();
      current = { comment: comment.join(" "), command: line.slice(2), answer: [] };
      comment = [];
    } else {
      current?.answer.push(line);
    }
  }
  finish();
  return steps;
}

export function readListing(): ListingStep[] {
  return parseListing(readFileSync(new URL("./queue-listing.txt", import.meta.url), "utf8"));
}

/** Status of queues and consumers, which the Queue Agent computes. */
export function needsQueueAgent(step: ListingStep): boolean {
  return /@queue_(status|partitions|consumer_status)\b/.test(step.command);
}

/** Whether the step is part of the run that creates the consumer this way. */
export function belongsTo(step: ListingStep, creation: ConsumerCreation): boolean {
  if (step.command.includes("create queue_consumer ")) {
    return creation === "queue_consumer alias";
  }
  if (step.command.includes("treat_as_queue_consumer=true")) {
    return creation === "explicit schema";
  }
  return true;
}

/** The step before which the Queue Agent would have trimmed the queue up to row 42. */
export function comesAfterTrimming(step: ListingStep): boolean {
  return step.comment.includes("soon the rows up to index 42 will be trimmed");
}

/**
 * Replaces what differs from run to run: object ids, and timestamps by the order in which different ones
 * appear, so that rows of one commit still must share theirs and rows of different commits must not.
 */
export function masked(answer: string): string {
  const timestamps = new Map<string, string>();
  return answer
    .replace(/\b[0-9a-f]{1,8}(?:-[0-9a-f]{1,8}){3}\b/g, "ID")
    .replace(/\b[0-9]{18,20}u\b/g, (timestamp) => {
      const name = timestamps.get(timestamp) ?? `TIMESTAMP-${timestamps.size + 1}`;
      timestamps.set(timestamp, name);
      return name;
    });
}
