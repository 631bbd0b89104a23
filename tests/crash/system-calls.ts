/** Reads what `strace -f -y` wrote, as far as the flush test needs it. */

export interface SystemCall {
  readonly name: string;
  /** Text between the parentheses, cut as strace cuts it. */
  readonly args: string;
  /** The descriptor it is about, as strace shows it: `21</data/data.mdb>`. */
  readonly descriptor: string;
  readonly result: string;
  /** Line numbers: a call that others interrupted in the log has two. */
  readonly begin: number;
  readonly end: number;
}

/** Calls in the order of their ends. Those that never ended are left out. */
export function parseSystemCalls(log: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const unfinished = new Map<
    string,
    { readonly name: string; readonly args: string; readonly begin: number }
  >();
  for (const [line, text] of log.split("\n").entries()) {
    const [, thread = "", rest = ""] = /^(\d+)\s+(.*)$/.exec(text) ?? [];
    const begun = /^(\w+)\((.*)<unfinished \.\.\.>$/.exec(rest);
    if (begun !== null) {
      unfinished.set(thread, { name: begun[1] ?? "", args: begun[2] ?? "", begin: line });
      continue;
    }
    const resumed = /^<\.\.\. (\w+) resumed>(.*)\)\s+= (.*)$/.exec(rest);
    const whole = /^(\w+)\((.*)\)\s+= (.*)$/.exec(rest);
    if (resumed !== null) {
      const first = unfinished.get(thread);
      unfinished.delete(thread);
      if (first !== undefined) {
        calls.push(call(first.name, first.args + (resumed[2] ?? ""), resumed[3] ?? "", first.begin, line));
      }
    } else if (whole !== null) {
      calls.push(call(whole[1] ?? "", whole[2] ?? "", whole[3] ?? "", line, line));
    }
  }
  return calls;
}

function call(name: string, args: string, result: string, begin: number, end: number): SystemCall {
  const descriptor = /^(\d+<.*?>)[,)]?/.exec(args)?.[1] ?? "";
  return { name, args, descriptor, result, begin, end };
}

export interface Exchange {
  /** The first line of the request, cut. */
  readonly request: string;
  readonly requestLine: number;
  readonly answerLine: number;
}

/** Requests of state-changing commands with their answers, by connection. */
export function findExchanges(calls: readonly SystemCall[]): Exchange[] {
  const waiting = new Map<string, { readonly request: string; readonly line: number }>();
  const exchanges: Exchange[] = [];
  for (const { name, args, descriptor, begin, end } of calls) {
    const request = /"((?:PUT|POST|GET) \/api\/v4\/\w+)/.exec(args)?.[1];
    if ((name === "read" || name === "recvfrom" || name === "recvmsg") && request !== undefined) {
      waiting.set(descriptor, { request, line: end });
    } else if (/^(write|writev|sendto|sendmsg)$/.test(name) && args.includes('"HTTP/1.1 ')) {
      const asked = waiting.get(descriptor);
      waiting.delete(descriptor);
      if (asked !== undefined) {
        exchanges.push({ request: asked.request, requestLine: asked.line, answerLine: begin });
      }
    }
  }
  return exchanges;
}
