/**
 * LIKE and ILIKE. The pattern is cut at `%` into pieces; each piece is searched once, left to right, so the
 * time is linear in the text for each piece and nothing is ever tried twice.
 *
 * Specified in: ConvertLikePatternToRegex of yt/yt/library/query/engine_api.
 */
import { YtError } from "@qyt/base";

/** `_` in a piece. No character: real ones are code points. */
const anyCharacter = -1;

interface Piece {
  /** Code points, or `anyCharacter`. */
  readonly points: readonly number[];
}

export type TextMatcher = (text: string) => boolean;

/**
 * Compiles a pattern over texts whose invalid UTF-8 bytes are escaped (one character each).
 *
 * @param escapeCharacter the escape character; empty switches escaping off
 * @throws YtError for an escape of several characters or at the very end
 */
export function compileLike(pattern: string, escapeCharacter: string, caseInsensitive: boolean): TextMatcher {
  const escapePoints = [...escapeCharacter];
  if (escapePoints.length > 1) {
    throw new YtError("Escape string must be empty or one character");
  }
  const pieces = splitPattern([...pattern], escapePoints[0], caseInsensitive);
  return (text) => matchPieces(pieces, toPoints(text, caseInsensitive));
}

function splitPattern(
  characters: readonly string[],
  escapeCharacter: string | undefined,
  caseInsensitive: boolean,
): Piece[] {
  const pieces: number[][] = [[]];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? "";
    const piece = pieces[pieces.length - 1] ?? [];
    if (character === escapeCharacter) {
      index += 1;
      const next = characters[index];
      if (next === undefined) {
        throw new YtError("Incomplete escape sequence at the end of LIKE pattern");
      }
      piece.push(fold(next, caseInsensitive));
    } else if (character === "%") {
      pieces.push([]);
    } else {
      piece.push(character === "_" ? anyCharacter : fold(character, caseInsensitive));
    }
  }
  return pieces.map((points) => ({ points }));
}

function toPoints(text: string, caseInsensitive: boolean): number[] {
  const points: number[] = [];
  for (const character of text) {
    points.push(fold(character, caseInsensitive));
  }
  return points;
}

function fold(character: string, caseInsensitive: boolean): number {
  if (!caseInsensitive) {
    return character.codePointAt(0) ?? 0;
  }
  const lower = character.toLowerCase();
  return (lower.length === character.length ? lower : character).codePointAt(0) ?? 0;
}

function matchPieces(pieces: readonly Piece[], text: readonly number[]): boolean {
  const first = pieces[0]?.points ?? [];
  if (pieces.length === 1) {
    return first.length === text.length && matchesAt(first, text, 0);
  }
  const last = pieces[pieces.length - 1]?.points ?? [];
  const end = text.length - last.length;
  if (first.length > end || !matchesAt(first, text, 0) || !matchesAt(last, text, end)) {
    return false;
  }
  let position = first.length;
  for (const piece of pieces.slice(1, -1)) {
    const found = find(piece.points, text, position, end);
    if (found < 0) {
      return false;
    }
    position = found + piece.points.length;
  }
  return position <= end;
}

/** The first place at or behind `from` where the piece stands and ends within `end`; -1 if there is none. */
function find(piece: readonly number[], text: readonly number[], from: number, end: number): number {
  for (let start = from; start + piece.length <= end; start += 1) {
    if (matchesAt(piece, text, start)) {
      return start;
    }
  }
  return -1;
}

function matchesAt(piece: readonly number[], text: readonly number[], start: number): boolean {
  for (let index = 0; index < piece.length; index += 1) {
    const wanted = piece[index];
    if (wanted !== anyCharacter && wanted !== text[start + index]) {
      return false;
    }
  }
  return true;
}
