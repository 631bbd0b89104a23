/** Signals put together. */

/** Aborts when one of the two does. */
export function eitherSignal(
  first: AbortSignal | undefined,
  second: AbortSignal | undefined,
): AbortSignal | undefined {
  if (first === undefined || second === undefined || first === second) {
    return first ?? second;
  }
  return AbortSignal.any([first, second]);
}
