/** The line to paste, with which `yt --proxy NAME` finds the clusters. */
import { writeYsonText } from "@qyt/yson";

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
