/** What many commands have in common: what they take, what they answer, and whether they change something. */

/** Answers a value and changes nothing. */
export const reading = { input: "null", output: "structured", isVolatile: false, isHeavy: false } as const;

/** Changes something and answers with a value. */
export const writing = { ...reading, isVolatile: true } as const;

/** Changes something and has nothing to answer, which API v3 says with no body at all. */
export const answerless = { ...writing, outputV3: "null" } as const;
