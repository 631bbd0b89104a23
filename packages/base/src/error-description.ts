/** How an error code is described. */
import type { ErrorCodeName } from "./codes.ts";

export interface ErrorDescription {
  /** One sentence: what is the case. */
  readonly meaning: string;
  /** What commonly leads to it. */
  readonly cause: string;
  /** What the one who gets it can do. */
  readonly remedy: string;
}

export type DescriptionTable = Partial<Readonly<Record<ErrorCodeName, ErrorDescription>>>;
