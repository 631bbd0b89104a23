/** The parts of `@ytsaurus/javascript-wrapper` that the tests use; the package has no types of its own. */
declare module "@ytsaurus/javascript-wrapper" {
  export interface Setup {
    readonly proxy: string;
    readonly secure: boolean;
    readonly useEncodedParameters: boolean;
    readonly useHeavyProxy?: boolean;
    readonly encodedParametersSettings?: {
      readonly maxSize: number;
      readonly maxCount: number;
      encoder(text: string): string;
    };
  }

  export interface Call {
    readonly setup: Setup;
    readonly parameters: object;
    readonly data?: unknown;
  }

  /** Answers the parsed JSON or the text; rejects with the parsed error `{code, message, …}`. */
  export type Command = (call: Call) => Promise<unknown>;

  export type CommandName =
    | "get"
    | "set"
    | "list"
    | "exists"
    | "create"
    | "remove"
    | "copy"
    | "move"
    | "link"
    | "executeBatch"
    | "readTable"
    | "writeTable"
    | "mountTable"
    | "unmountTable"
    | "insertRows"
    | "selectRows"
    | "startTransaction"
    | "commitTransaction"
    | "abortTransaction";

  export interface Wrapper {
    readonly v3: Readonly<Record<CommandName, Command>>;
    readonly v4: Readonly<Record<CommandName, Command>>;
    readonly setup: { encodeForYt(text: string): string };
    readonly codes: Readonly<Record<"NODE_DOES_NOT_EXIST" | "NODE_ALREADY_EXISTS" | "GENERAL_ERROR", number>>;
  }

  export default function createWrapper(): Wrapper;
}
