/** Rows of the state tables as the Orchid shows them: what the node of an object says of its row. */
import { mapOf } from "@qyt/base";
import { referenceToString } from "../objects/reference.ts";
import type { StateRow } from "../objects/state-rows.ts";
import { type OrchidNode, valueNode } from "../orchid/orchid-node.ts";
import { columnsOf } from "../state/state-rows-codec.ts";

/** `row` is made when asked for. No row of the mapping of replicated tables is ever known here. */
export function rowNodes(current: () => StateRow): Readonly<Record<string, OrchidNode>> {
  return {
    row: valueNode(() => {
      const row = current();
      return mapOf({ [row.kind]: referenceToString(row.reference), ...columnsOf(row) });
    }),
    replicated_table_mapping_row: valueNode(() => null),
  };
}
