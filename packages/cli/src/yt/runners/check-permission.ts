/** `check-permission`: the answer, or with `-q` an exit code alone. */
import type { Runner } from "../command.ts";
import { runRequest } from "../printing.ts";
import { fieldOf } from "../session.ts";

const exitCodes = { allowed: 0, denied: 1, unknown: 126 };

export const checkPermission: Runner = async (context) => {
  if (!context.values.is("quiet")) {
    return runRequest(
      { command: "check_permission", method: "GET", output: { kind: "formatted", endsLine: false } },
      context,
    );
  }
  const { output_format: _, ...parameters } = context.parameters;
  const answer = await context.session.value("check_permission", parameters);
  return fieldOf(answer, "action") === "allow" ? exitCodes.allowed : exitCodes.denied;
};
