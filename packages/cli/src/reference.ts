/** What docs/cli-reference.md is made of. */
export { exampleLine, exitCodes, namesOf, optionHelp, signatureOf, usageOf } from "./help.ts";
export { commonArguments, globalArguments, ytFamilies } from "./yt/table.ts";
