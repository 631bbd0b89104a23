/** `qyt`, the command. `bin/qyt.js` calls `main`. */
export { main } from "./main.ts";
