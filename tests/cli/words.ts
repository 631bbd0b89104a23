/** A command line as a shell takes it apart: words, with quotes around what has spaces. */
export function parse(line: string): string[] {
  const words: string[] = [];
  const pattern = /(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g;
  for (const [word] of line.matchAll(pattern)) {
    words.push(
      word.replace(
        /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g,
        (_text, single, double, plain) => single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? plain,
      ),
    );
  }
  return words;
}
