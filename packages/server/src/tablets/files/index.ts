/** Files: the node type, and their bytes. */
export { type FileRead, readFile, writeFile } from "./file-data.ts";
