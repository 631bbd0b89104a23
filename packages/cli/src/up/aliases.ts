/** The variable with which `yt --proxy NAME` finds the clusters: written for pasting, and read. */
import { isMap, toYtError, YtError } from "@qyt/base";
import { parseYson, writeYsonText } from "@qyt/yson";

export const aliasVariable = "YT_PROXY_URL_ALIASING_CONFIG";

/** The value of the variable, as the Python client reads it: a YSON map from name to URL. */
export function aliasConfig(clusters: readonly { readonly name: string; readonly url: string }[]): string {
  const items = clusters.map(({ name, url }) => {
    const key = /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) ? name : writeYsonText(name);
    return `${key}=${writeYsonText(url)}`;
  });
  return `{${items.join("; ")}}`;
}

/** For a POSIX shell. */
export function exportLine(clusters: readonly { readonly name: string; readonly url: string }[]): string {
  return `export ${aliasVariable}='${aliasConfig(clusters).replaceAll("'", `'\\''`)}'`;
}

/**
 * Addresses by name, as the variable has them; none when it is not set.
 * @throws YtError 1 when it is not a YSON map of strings
 */
export function parseAliases(text: string | undefined): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  if (text === undefined || text.trim() === "") {
    return aliases;
  }
  try {
    const value = parseYson(Buffer.from(text));
    if (!isMap(value)) {
      throw new YtError("it is not a map");
    }
    for (const [name, address] of value) {
      if (typeof address !== "string") {
        throw new YtError(`the address of "${name}" is not a string`);
      }
      aliases.set(name, address);
    }
  } catch (thrown) {
    throw new YtError(
      `The variable ${aliasVariable} cannot be read: ${toYtError(thrown).message}; set it to a map like {pythia="http://127.0.0.1:8001"}, or unset it`,
    );
  }
  return aliases;
}
