/** `@qyt/flow`: Flow pipelines over `@qyt/client`. */
export type { Message, StreamSchema, Timer } from "./model/message.ts";
